// The guest program: carries out the host's requests in a QEMU pseries machine, 64-bit big-endian,
// real mode. The image is linked for GUEST_BASE and loaded at 0 as firmware; it copies itself up
// and leaves low memory alone, but for the moment of an access through the MMU, when the interrupt
// vectors are its own.
//
// For good: R31 the mailbox, R30 the number of the last request.

#include "tests/conformance/qemu/guest_layout.h"

        .machine power8
        .text

        .macro  load32 register, value
        lis     \register, \value >> 16
        ori     \register, \register, \value & 0xffff
        .endm

        .macro  load_address register, label
        load32  \register, GUEST_BASE
        addi    \register, \register, \label - _start
        .endm

        // All ten registers from or to `base`.
        .macro  each_register instruction, offset, base = 31
        \instruction 3, \offset + 0x00(\base)
        \instruction 4, \offset + 0x08(\base)
        \instruction 5, \offset + 0x10(\base)
        \instruction 6, \offset + 0x18(\base)
        \instruction 7, \offset + 0x20(\base)
        \instruction 8, \offset + 0x28(\base)
        \instruction 9, \offset + 0x30(\base)
        \instruction 10, \offset + 0x38(\base)
        \instruction 11, \offset + 0x40(\base)
        \instruction 12, \offset + 0x48(\base)
        .endm

        .globl  _start
_start:
        .org    GUEST_ENTRY
        // Position-independent up to the jump: the image is at 0.
        li      3, 0
        load32  4, GUEST_BASE
        li      5, (image_end - _start + 7) / 8
        mtctr   5
1:      ldx     6, 0, 3
        stdx    6, 3, 4
        addi    3, 3, 8
        bdnz    1b
        addi    5, 4, start_above - _start
        sync
        // What was at these addresses before is code no longer.
        li      3, 0
2:      add     6, 3, 4
        icbi    0, 6
        addi    3, 3, 128
        cmpldi  3, image_end - _start
        blt     2b
        isync
        mtctr   5
        bctr

start_above:
        load32  31, GUEST_MAILBOX
        // A pseries processor starts in 32-bit mode.
        li      3, 1
        sldi    3, 3, 63
        mfmsr   4
        or      3, 3, 4
        mtmsrd  3
        isync
        // No decrementer interrupt is pending if ever MSR.EE were set.
        load32  3, 0x7fffffff
        mtdec   3
        ld      30, MAILBOX_REQUEST_SEQUENCE(31)
        load32  3, GUEST_READY
        sync
        std     3, MAILBOX_READY(31)

poll:
        ld      3, MAILBOX_REQUEST_SEQUENCE(31)
        cmpld   3, 30
        beq     poll

serve:
        mr      30, 3
        lwsync
        ld      3, MAILBOX_OPERATION(31)
        cmpldi  3, OPERATION_HCALL
        beq     hcall
        cmpldi  3, OPERATION_ACCESS
        beq     access
        cmpldi  3, OPERATION_READ_TABLE
        beq     read_table
        cmpldi  3, OPERATION_AGE_TABLE
        beq     age_table
        cmpldi  3, OPERATION_BATCH
        beq     batch

answer:
        lwsync
        std     30, MAILBOX_ANSWER_SEQUENCE(31)
        b       poll

hcall:
        each_register ld, MAILBOX_REQUEST_REGISTERS
        sc      1
        each_register std, MAILBOX_ANSWER_REGISTERS
        b       answer

// One access. R26 our vectors, R27 what they replace, R28 the vector of an interrupt, R29 where our
// vectors go on.
        .set    vector_bytes, 12
        .macro  for_each_vector do
        \do     0x200, 0
        \do     0x300, 1
        \do     0x380, 2
        \do     0x600, 3
        \do     0x700, 4
        .endm
        .macro  save_vector vector, slot
        lwz     3, \vector(0)
        lwz     4, \vector + 4(0)
        lwz     5, \vector + 8(0)
        stw     3, \slot * vector_bytes(27)
        stw     4, \slot * vector_bytes + 4(27)
        stw     5, \slot * vector_bytes + 8(27)
        lwz     3, \slot * vector_bytes(26)
        lwz     4, \slot * vector_bytes + 4(26)
        lwz     5, \slot * vector_bytes + 8(26)
        stw     3, \vector(0)
        stw     4, \vector + 4(0)
        stw     5, \vector + 8(0)
        li      3, \vector
        icbi    0, 3
        .endm
        .macro  restore_vector vector, slot
        lwz     7, \slot * vector_bytes(27)
        lwz     8, \slot * vector_bytes + 4(27)
        lwz     9, \slot * vector_bytes + 8(27)
        stw     7, \vector(0)
        stw     8, \vector + 4(0)
        stw     9, \vector + 8(0)
        li      7, \vector
        icbi    0, 7
        .endm
        .macro  vector_instructions vector, slot
        li      28, \vector
        mtctr   29
        bctr
        .endm

access:
        load_address 26, vector_table
        load_address 27, vector_backup
        load_address 29, after_access
        for_each_vector save_vector
        sync
        isync
        each_register ld, MAILBOX_REQUEST_REGISTERS
        slbia
        isync
        slbmte  4, 5
        isync
        li      28, 0
        li      8, 0
        mfmsr   9
        ori     10, 9, 0x10             // DR
        cmpldi  cr0, 6, ACCESS_LOAD
        cmpldi  cr1, 6, ACCESS_STORE_BACK
        mtmsrd  10
        isync
        beq     cr0, 1f
        beq     cr1, 2f
        stb     7, 0(3)
        b       after_access
1:      lbz     8, 0(3)
        b       after_access
2:      lbz     8, 0(3)
        stb     8, 0(3)
after_access:
        mfmsr   9
        li      10, 0x10
        andc    9, 9, 10
        mtmsrd  9
        isync
        mr      6, 8
        mfdsisr 4
        mfdar   5
        mr      3, 28
        for_each_vector restore_vector
        slbia
        isync
        ptesync
        each_register std, MAILBOX_ANSWER_REGISTERS
        b       answer

// R3 first entry, R4 how often. R20 entry, R21 calls left, R22 where to, R23 the answer.
read_table:
        ld      20, MAILBOX_REQUEST_REGISTERS(31)
        ld      21, MAILBOX_REQUEST_REGISTERS + 8(31)
        load32  22, GUEST_BUFFER
        li      23, 0
1:      cmpldi  21, 0
        beq     loop_done
        li      3, 0x0c                 // H_READ
        li      4, 0x20
        sldi    4, 4, 32                // H_READ_4
        mr      5, 20
        sc      1
        cmpdi   3, 0
        bne     loop_failed
        std     4, 0x00(22)
        std     5, 0x08(22)
        std     6, 0x10(22)
        std     7, 0x18(22)
        std     8, 0x20(22)
        std     9, 0x28(22)
        std     10, 0x30(22)
        std     11, 0x38(22)
        addi    22, 22, 0x40
        addi    20, 20, 4
        subi    21, 21, 1
        b       1b

// R3 first entry, R4 how often, R5 and R6 the words. Four entries at a time: each removal costs QEMU
// its translations.
age_table:
        ld      20, MAILBOX_REQUEST_REGISTERS(31)
        ld      21, MAILBOX_REQUEST_REGISTERS + 8(31)
        ld      22, MAILBOX_REQUEST_REGISTERS + 0x10(31)
        ld      24, MAILBOX_REQUEST_REGISTERS + 0x18(31)
        li      23, 0
        li      25, 0x80
        sldi    25, 25, 32              // H_EXACT
        li      26, 0x40
        sldi    26, 26, 56              // of H_BULK_REMOVE: a request, any entry
1:      cmpldi  21, 0
        beq     loop_done
        li      27, 0
2:      li      3, 0x08                 // H_ENTER
        mr      4, 25
        add     5, 20, 27
        mr      6, 22
        mr      7, 24
        sc      1
        cmpdi   3, 0
        bne     loop_failed
        addi    27, 27, 1
        cmpldi  27, 4
        blt     2b
        li      3, 0x124                // H_BULK_REMOVE
        or      4, 20, 26
        addi    6, 4, 1
        addi    8, 4, 2
        addi    10, 4, 3
        sc      1
        cmpdi   3, 0
        bne     loop_failed
        addi    20, 20, 4
        subi    21, 21, 1
        b       1b

// R3 how many, R4 whether to stop at an error. R20 the next, R21 how many are left, R22 the flag.
batch:
        load32  20, GUEST_BUFFER
        ld      21, MAILBOX_REQUEST_REGISTERS(31)
        ld      22, MAILBOX_REQUEST_REGISTERS + 8(31)
        li      23, 0
1:      cmpldi  21, 0
        beq     loop_done
        each_register ld, 0, 20
        sc      1
        each_register std, 0, 20
        addi    20, 20, BATCH_HCALL_BYTES
        addi    23, 23, 1
        subi    21, 21, 1
        cmpdi   3, 0
        beq     1b
        cmpldi  22, 0
        beq     1b
        b       loop_done

loop_failed:
        mr      23, 3
loop_done:
        std     23, MAILBOX_ANSWER_REGISTERS(31)
        b       answer

        .balign 8
vector_table:
        for_each_vector vector_instructions
        .balign 8
vector_backup:
        .space  5 * vector_bytes
        .balign 8
image_end:
