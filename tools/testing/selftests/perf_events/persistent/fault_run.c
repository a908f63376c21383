// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a command in which the N-th allocation, or copy from or to user space, fails. Counting
 * starts at its first perf_event_open(), to leave out the loading of the program.
 *
 * usage: fault_run N FILE COMMAND [ARG...]
 *
 * Writes to FILE how much of N was left: 0 if something failed.
 * Exit status: that of the command, 128 and the number of the signal that
 * killed it, 4 if the kernel has no fault injection.
 */
#define PERSISTENT_NO_HARNESS
#include <sys/ptrace.h>

#include <linux/ptrace.h>

#include "fail_nth.h"

/* Lets it run to its first perf_event_open(). Returns false if it ends before. */
static bool run_to_open(pid_t pid, int *status)
{
	struct ptrace_syscall_info info;
	int sig = 0;

	while (waitpid(pid, status, 0) == pid && WIFSTOPPED(*status)) {
		if (WSTOPSIG(*status) == (SIGTRAP | 0x80)) {
			sig = 0;
			ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info);
			if (info.op == PTRACE_SYSCALL_INFO_ENTRY &&
			    info.entry.nr == SYS_perf_event_open)
				return true;
		} else {
			sig = WSTOPSIG(*status) == SIGTRAP ? 0 : WSTOPSIG(*status);
		}
		if (ptrace(PTRACE_SETOPTIONS, pid, 0,
			   PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) ||
		    ptrace(PTRACE_SYSCALL, pid, NULL, sig))
			break;
	}
	return false;
}

int main(int argc, char **argv)
{
	char path[64], left[16] = "";
	const char *missing;
	siginfo_t info;
	int status, fd;
	pid_t pid;

	if (argc < 4)
		return KSFT_FAIL;
	missing = fail_nth_prepare();
	if (missing) {
		fprintf(stderr, "%s\n", missing);
		return KSFT_SKIP;
	}

	pid = fork();
	if (!pid) {
		if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			execvp(argv[3], argv + 3);
		fprintf(stderr, "%s: %s\n", argv[3], strerror(errno));
		_exit(KSFT_FAIL);
	}
	if (pid < 0)
		return KSFT_FAIL;
	if (!run_to_open(pid, &status)) {
		fprintf(stderr, "%s opens no event\n", argv[3]);
		return KSFT_FAIL;
	}
	snprintf(path, sizeof(path), "/proc/%d/fail-nth", pid);
	if (write_file(path, argv[1]) || ptrace(PTRACE_DETACH, pid, NULL, NULL))
		return KSFT_FAIL;

	/* The rest of N is readable until the process is reaped. */
	if (waitid(P_PID, pid, &info, WEXITED | WNOWAIT) ||
	    read_file(path, left, sizeof(left)) < 0)
		return KSFT_FAIL;
	waitpid(pid, &status, 0);

	fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, left, strlen(left)) < 0)
		return KSFT_FAIL;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
