/* without_cma [--writes | --memory-files] PROGRAM ARGUMENTS...: runs a program that may not use process_vm_readv and
 * process_vm_writev, as in many containers, or only not the second, or not memfd_create: a seccomp filter answers EPERM. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DENY BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(int argc, char** argv) {
  const int writes_only = argc > 1 && strcmp(argv[1], "--writes") == 0;
  const int memory_files = argc > 1 && strcmp(argv[1], "--memory-files") == 0;
  const unsigned reads = memory_files ? SYS_memfd_create : SYS_process_vm_readv;
  const unsigned writes = memory_files ? SYS_memfd_create : SYS_process_vm_writev;
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, writes_only ? writes : reads, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, writes, 1, 0),
      ALLOW,
      DENY,
  };
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  argv += writes_only | memory_files;
  argc -= writes_only | memory_files;
  if (argc < 2) {
    fprintf(stderr, "usage: without_cma [--writes | --memory-files] PROGRAM ARGUMENTS...\n");
    return 2;
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("without_cma: cannot install the filter");
    return 2;
  }
  execvp(argv[1], argv + 1);
  perror(argv[1]);
  return 127;
}
