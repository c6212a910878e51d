#!/usr/bin/env python3
"""Runs mutants of the engine and tells which of them no test notices. See README.md here."""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import mutants

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# In the order of their speed: program and arguments. Random hypercalls are the same ones each time.
KILLERS = {
    'vectors': ['vectors'],
    'model': ['model', '--seed=1', '--hcalls=50000', '--gtest_filter=-ModelCoverage*'],
    'unit': ['unit', '--gtest_filter=-*Concurrency*:Quiescence*'],
    'concurrency': ['unit', '--gtest_filter=*Concurrency*:Quiescence*'],
}
COMPILE_ERROR, SURVIVED = 'compile error', 'SURVIVED'


class Harness:
    """The unmutated build: object files, how each came about, and the programs that kill."""

    def __init__(self, build, jobs):
        self.source, self.build = f'{build}/source', f'{build}/programs'
        for folder in ('hcall', 'mmu', 'client', 'tests'):
            shutil.rmtree(f'{self.source}/{folder}', ignore_errors=True)
            shutil.copytree(f'{ROOT}/{folder}', f'{self.source}/{folder}')
        subprocess.run(['cmake', '-S', HERE, '-B', self.build, '-G', 'Ninja',
                        '-DCMAKE_CXX_FLAGS=-O1', f'-DHPTD_SOURCE={self.source}'], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(['ninja', '-C', self.build, '-j', str(jobs), '--quiet'], check=True)
        self.commands, self.objects = {}, collections.defaultdict(dict)
        with open(f'{self.build}/compile_commands.json', encoding='utf-8') as stream:
            for entry in json.load(stream):
                file = os.path.relpath(entry['file'], self.source)
                output, target = re.search(r' -o (CMakeFiles/(\w+)\.dir\S+)',
                                           entry['command']).groups()
                if 'cmake_pch' not in file:
                    self.commands[file] = entry
                    self.objects[target][file] = output
        self.libraries = {target: self._libraries(name)
                          for target, name in (('engine', 'libengine.so'), ('unit', 'unit'))}
        self.seconds = {}  # of processor time that each killer is given
        for killer in KILLERS:
            begin = time.monotonic()
            if self.run(killer, self.build, 600):
                sys.exit(f'{killer} fails without any mutation: {KILLERS[killer]}')
            self.seconds[killer] = 5 + 10 * int(time.monotonic() - begin)

    def _libraries(self, target):
        with open(f'{self.build}/build.ninja', encoding='utf-8') as stream:
            rule = stream.read().split(f'\nbuild {target}: ')[1]
        libraries = re.search(r'LINK_LIBRARIES = (.*)', rule).group(1).split()
        return [library for library in libraries if not library.endswith('libengine.so')]

    def run(self, killer, directory, seconds, program=None):
        """Runs a killer with the engine in `directory`: '', its name, or that it took too long."""
        name, *arguments = KILLERS[killer]

        def limit():
            # Of processor time, so that a busy machine kills no mutant; `timeout` is for deadlocks.
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            result = subprocess.run(
                [program or f'{self.build}/{name}', '--gtest_brief=1', *arguments],
                env={**os.environ, 'LD_LIBRARY_PATH': directory}, timeout=60 + 10 * seconds,
                check=False, preexec_fn=limit, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL).returncode
        except subprocess.TimeoutExpired:
            result = -signal.SIGXCPU
        if result == 0:
            return ''
        return f'timeout of {killer}' if result == -signal.SIGXCPU else killer

    def compile(self, source, overlay, text_file):
        """Object file of `text_file` with the mutated file of `overlay`, as `source` is compiled;
        None: it does not compile."""
        command = shlex.split(self.commands[source]['command'])
        result = f'{text_file}.o'
        command[command.index('-o') + 1] = result
        command[command.index('-c') + 1] = text_file
        command.insert(1, f'-I{overlay}')
        return result if self._succeeds(command) else None

    def link_engine(self, mutant, overlay):
        """False: it does not compile."""
        if mutant.file.endswith('.cc'):
            new = self.compile(mutant.file, overlay, f'{overlay}/{mutant.file}')
            old = [file for file in self.objects['engine'] if file != mutant.file]
        else:
            # All of it at once takes a fifth of the time.
            with open(f'{overlay}/engine.cc', 'w', encoding='utf-8') as stream:
                stream.writelines(f'#include "{file}"\n' for file in self.objects['engine']
                                  if not mutants.LEFT_OUT.match(file))
            new = self.compile('hcall/enter.cc', overlay, f'{overlay}/engine.cc')
            # Names and text stay as they are: they would change together with what they name.
            old = [file for file in self.objects['engine'] if mutants.LEFT_OUT.match(file)]
        return new is not None and self._link('engine', new, old, '-shared', '-Wl,-Bsymbolic', '-o',
                                              f'{overlay}/libengine.so')

    def link_unit(self, mutant, overlay):
        """The unit tests, of which the one of a mutated header is compiled with it."""
        stem = os.path.basename(mutant.file).removesuffix('.h')
        tests = [file for file in self.objects['unit'] if file.endswith(f'/{stem}_test.cc')]
        if not mutant.file.endswith('.h') or not tests:
            return f'{self.build}/unit'
        test = tests[0]
        os.makedirs(f'{overlay}/tests')
        shutil.copy(f'{self.source}/{test}', f'{overlay}/tests/header_test.cc')
        new = self.compile(test, overlay, f'{overlay}/tests/header_test.cc')
        old = [file for file in self.objects['unit'] if file != test]
        if new is None or not self._link('unit', new, old, f'{overlay}/libengine.so', '-o',
                                         f'{overlay}/unit'):
            return None
        return f'{overlay}/unit'

    def _link(self, target, new, old, *arguments):
        # The first of several inline functions of one name is taken.
        objects = [new, *(f'{self.build}/{self.objects[target][file]}' for file in old)]
        return self._succeeds(['c++', *objects, *self.libraries[target], *arguments])

    def _succeeds(self, command):
        return subprocess.run(command, cwd=self.build, check=False, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def judge(self, mutant):
        """Who kills `mutant`."""
        with tempfile.TemporaryDirectory(dir=os.path.dirname(self.build)) as overlay:
            with open(f'{self.source}/{mutant.file}', encoding='utf-8') as stream:
                text = mutant.apply(stream.read())
            os.makedirs(os.path.dirname(f'{overlay}/{mutant.file}'))
            with open(f'{overlay}/{mutant.file}', 'w', encoding='utf-8') as stream:
                stream.write(text)
            if not self.link_engine(mutant, overlay):
                return COMPILE_ERROR
            program = None
            for killer, seconds in self.seconds.items():
                if killer == 'unit':
                    program = self.link_unit(mutant, overlay)
                    if program is None:
                        return killer
                fate = self.run(killer, overlay, seconds, program)
                if fate:
                    return fate
            return SURVIVED


def read_equivalents():
    """(file, line before, line after) of each mutant listed as equivalent."""
    result, file, before = set(), '', ''
    with open(f'{HERE}/equivalent.txt', encoding='utf-8') as stream:
        for line in stream:
            if re.match(r'(hcall|mmu)/', line):
                file = line.strip()
            elif line.startswith('- '):
                before = line[2:].strip()
            elif line.startswith('+ '):
                result.add((file, before, line[2:].strip()))
    return result


def parse_arguments():
    parser = argparse.ArgumentParser(prog='tests/mutation.sh', description=__doc__)
    parser.add_argument('--list', action='store_true', help='print the mutants, run none')
    parser.add_argument('--count', type=int, default=300, help='how many to run (default: 300)')
    parser.add_argument('--all', action='store_true', help='run every one')
    parser.add_argument('--seed', type=int, default=1, help='of the selection (default: 1)')
    parser.add_argument('--only', default='', metavar='REGEX', help='those whose name has a match')
    parser.add_argument('--jobs', type=int, default=2, help='at once (default: 2)')
    parser.add_argument('--build', default=f'{ROOT}/build/mutation', help='build directory')
    return parser.parse_args()


def select(arguments, root):
    chosen = [each for each in mutants.all_mutants(root) if re.search(arguments.only, each.name)]
    if arguments.all or arguments.count >= len(chosen):
        return chosen
    # By a hash of what the mutant is, not of where it stands: a change elsewhere leaves the rest as it was.
    def rank(each):
        return hashlib.sha256(f'{arguments.seed} {each.file} {each.column} {each.old} {each.new} '
                              f'{each.line_before}'.encode()).digest()
    sample = sorted(chosen, key=rank)[:arguments.count]
    return sorted(sample, key=lambda each: (each.file.endswith('.h'), each.file, each.offset))


def main():
    arguments = parse_arguments()
    if arguments.list:
        print('\n'.join(each.name for each in select(arguments, ROOT)))
        return 0
    harness = Harness(arguments.build, arguments.jobs)
    for file in ('hcall/enter.cc', 'mmu/hpte.h'):
        # A control of this program: what changes nothing is noticed by nobody.
        if harness.judge(mutants.Mutant(file, 1, 1, 0, '', '', '', '')) != SURVIVED:
            sys.exit(f'{file} counts as killed without any mutation')
    chosen = select(arguments, harness.source)
    counts, survivors = collections.Counter(), []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for mutant, fate in zip(chosen, pool.map(harness.judge, chosen)):
            print(f'{fate:18} {mutant.name}', flush=True)
            counts[fate] += 1
            if fate == SURVIVED:
                survivors.append(mutant)

    equivalents = read_equivalents()
    known = {(each.file, each.line_before, each.line_after)
             for each in mutants.all_mutants(harness.source)}
    for file, before, after in sorted(equivalents - known):
        print(f'warning: equivalent.txt lists what is no mutant: {file}\n- {before}\n+ {after}')
    unlisted = [each for each in survivors
                if (each.file, each.line_before, each.line_after) not in equivalents]
    for each in unlisted:
        print(f'\nNo test notices {each.name}\n- {each.line_before}\n+ {each.line_after}')
    run = len(chosen) - counts[COMPILE_ERROR]
    print(f'\n{run} mutants run ({counts[COMPILE_ERROR]} more did not compile): '
          + ', '.join(f'{count} {fate}' for fate, count in sorted(counts.items())
                      if fate != COMPILE_ERROR)
          + f'; {len(survivors) - len(unlisted)} survivors listed as equivalent, '
          f'{len(unlisted)} not')
    return 1 if unlisted else 0


if __name__ == '__main__':
    sys.exit(main())
