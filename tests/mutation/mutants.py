#!/usr/bin/env python3
"""Lists the mutants of the engine: every place in hcall/ and mmu/ where an operator of this file
applies. `mutants.py ROOT` prints them; run.py builds and runs them."""

import glob
import os
import re
import sys
from dataclasses import dataclass

# Left out, with the reason:
#   hcall/abi.cc, hcall/partition_spec.*   names and configurations as text: no hypercall reads them
#   hcall/trace.*                          the trace file format and digests
#   mmu/table_check.*                      a report about a table, of which no hypercall makes use
#   mmu/memory_budget.h                    accounting of host memory
LEFT_OUT = re.compile(
    r'hcall/abi\.cc|hcall/(partition_spec|trace)\.|mmu/(table_check|memory_budget)\.')

TOKEN = re.compile(
    r"""(?P<skip> //[^\n]* | /\*.*?\*/ | ^[ ]*\#else.*?^[ ]*\#endif[^\n]* | ^[ ]*\#[^\n]*
                | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])' | static_assert\b[^;]*; )
      | (?P<number> \b(?:0x[0-9a-fA-F']+|[0-9][0-9']*)\b )
      | (?P<name> [A-Za-z_]\w* )
      | (?P<op> <=> | <<= | >>= | -> | \+\+ | -- | << | >> | [-+&|^=!<>]= | && | \|\| | ::
                | [^\s\w] )
    """, re.VERBOSE | re.DOTALL | re.MULTILINE)

BINARY = {'&': ['|'], '|': ['&'], '^': ['&'], '<<': ['>>'], '>>': ['<<'],
          '+': ['-'], '-': ['+'], '*': ['+'], '/': ['*'], '%': ['/'],
          '==': ['!='], '!=': ['=='], '<': ['<=', '>='], '<=': ['<', '>'], '>': ['>=', '<='],
          '>=': ['>', '<'], '&&': ['||'], '||': ['&&'],
          '&=': ['|='], '|=': ['&='], '^=': ['|='], '+=': ['-='], '-=': ['+=']}


@dataclass(frozen=True)
class Mutant:
    """`new` in the place of the `old` that begins at `offset` of `file`."""
    file: str  # "hcall/enter.cc"
    line: int
    column: int
    offset: int
    old: str
    new: str
    line_before: str  # the source line, without its indentation
    line_after: str

    @property
    def name(self):
        return f'{self.file}:{self.line}:{self.column} {self.old} -> {self.new or "(nothing)"}'

    def apply(self, text):
        return text[:self.offset] + self.new + text[self.offset + len(self.old):]


@dataclass
class Token:
    kind: str
    text: str
    offset: int
    spaced: bool  # a blank before it: clang-format tells `a & b` from `T& b` that way


def subjects(root):
    """The files that are mutated."""
    files = [os.path.relpath(path, root) for folder in ('hcall', 'mmu')
             for path in glob.glob(f'{root}/{folder}/*.cc') + glob.glob(f'{root}/{folder}/*.h')]
    return sorted(file for file in files if not LEFT_OUT.match(file))


def tokens_of(text):
    return [Token(match.lastgroup, match.group(), match.start(), text[match.start() - 1].isspace())
            for match in TOKEN.finditer(text) if match.lastgroup != 'skip']


def inside_template_brackets(tokens):
    """Indices of the tokens of template argument lists, brackets included."""
    inside, depth = set(), 0
    for i, token in enumerate(tokens):
        if token.text == '<' and (not token.spaced or tokens[i - 1].text == 'template'):
            depth += 1
            inside.add(i)
        elif depth > 0:
            inside.add(i)
            depth -= {'>': 1, '>>': 2}.get(token.text, 0)
            if token.text in (';', '{'):
                depth = 0
    return inside


class Names:
    """What the constants that begin with k are, over all sources."""

    def __init__(self, texts):
        self.next_enumerator = {}  # of the same enumeration
        self.constants = {}  # name -> type
        for text in texts:
            text = re.sub(r'//[^\n]*', '', text)
            for body in re.findall(r'\benum\b[^;{]*\{(.*?)\}', text, re.S):
                names = re.findall(r'\b(k\w+)', body)
                self.next_enumerator.update(zip(names, names[1:] + names[:1]))
            for kind, name in re.findall(
                    r'\bconstexpr (uint64_t|size_t|int|uint32_t|uint8_t) (k\w+)\s*=', text):
                self.constants[name] = kind
        # Return codes: the one that a wrong check would most likely give.
        for name in re.findall(r'\b(kH\w+) = -?\d+,', '\n'.join(texts)):
            self.next_enumerator[name] = 'kHNotFound' if name == 'kHParameter' else 'kHParameter'

    def replacements(self, name, neighbours):
        if name in self.next_enumerator:
            return [self.next_enumerator[name]]
        if name not in self.constants:
            return []
        if self.constants[name] == 'uint64_t' and neighbours & {'&', '|', '~', '|=', '&=', '^'}:
            return ['0', f'~{name}']
        return [f'{name} + 1' if '::' in neighbours else f'({name} + 1)']


def other_numbers(literal):
    value = int(literal.replace("'", ''), 0)
    others = [value + 1, 0]
    if value.bit_count() > 1 or value >= 16:
        others += [value & (value - 1), value & ~(1 << (value.bit_length() - 1))]
    write = hex if literal.startswith('0x') else str
    return [write(other) for other in dict.fromkeys(others) if other != value]


def replacements(tokens, i, names):
    """What may stand instead of tokens[i]."""
    token = tokens[i]
    before = tokens[i - 1] if i > 0 else token
    after = tokens[i + 1] if i + 1 < len(tokens) else token
    if token.kind == 'number':
        return other_numbers(token.text)
    if token.text in ('true', 'false'):
        return ['false' if token.text == 'true' else 'true']
    if token.kind == 'name':
        declared = after.text == '=' or before.text == 'enum'
        return [] if declared else names.replacements(token.text, {before.text, after.text})
    if token.text == '!' or (token.text == '~' and not after.text[0].isupper()):
        return ['']
    # The replaced operators stand between blanks; references, pointers and signs do not.
    if token.spaced and after.spaced and before.text not in ('operator', '='):
        return BINARY.get(token.text, [])
    return []


def mutants_of(file, text, names):
    tokens = tokens_of(text)
    skipped = inside_template_brackets(tokens)
    for i, token in enumerate(tokens):
        if i in skipped:
            continue
        begin = text.rfind('\n', 0, token.offset) + 1
        end = text.index('\n', token.offset)
        for new in replacements(tokens, i, names):
            after = text[begin:token.offset] + new + text[token.offset + len(token.text):end]
            yield Mutant(file, text.count('\n', 0, begin) + 1, token.offset - begin + 1,
                         token.offset, token.text, new, text[begin:end].strip(), after.strip())


def all_mutants(root):
    texts = {}
    for file in subjects(root):
        with open(os.path.join(root, file), encoding='utf-8') as stream:
            texts[file] = stream.read()
    names = Names(texts.values())
    return [mutant for file, text in texts.items() for mutant in mutants_of(file, text, names)]


if __name__ == '__main__':
    for each in all_mutants(sys.argv[1] if len(sys.argv) > 1 else '.'):
        print(f'{each.name}\n- {each.line_before}\n+ {each.line_after}')
