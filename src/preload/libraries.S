// dlopen notes that it was called, and by which thread, and is a jump apart from that: the C library looks for libraries in
// the folders of who calls it, which it tells from the address that it returns to. The registers that are used here are
// none in which it gets arguments.
        .text
        .p2align 4
        .globl  dlopen
        .type   dlopen, @function
dlopen:
        .cfi_startproc
        endbr64
        // Nobody becomes this thread, another one becomes several. First this, then that there is something to look at.
        movq    %fs:0, %rcx
        movq    tutti_opener@GOTPCREL(%rip), %rdx
        xorl    %eax, %eax
        lock cmpxchgq %rcx, (%rdx)
        je      2f
        cmpq    %rax, %rcx
        je      2f
        movq    $-1, (%rdx)
2:      movq    tutti_libraries@GOTPCREL(%rip), %rax
        movb    $1, (%rax)
        movq    .Lnext(%rip), %rax
        testq   %rax, %rax
        jz      1f
        jmp     *%rax
1:      pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    tutti_next_dlopen
        movq    %rax, .Lnext(%rip)
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     *%rax
        .cfi_endproc
        .size   dlopen, .-dlopen

        .bss
        .p2align 3
.Lnext:
        .zero   8

        .section .note.GNU-stack, "", @progbits
