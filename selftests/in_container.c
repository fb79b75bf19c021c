// SPDX-License-Identifier: MIT
/*
 * Run a program the way a container without privileges does: own mount, process and network
 * namespaces, a /dev with nothing but the named nodes, no capability, an ordinary user.
 *
 *   in_container [-n NODE]... [-g GROUP] PROGRAM [ARGUMENT]...
 *
 * Folders of the machine are there, read only: /bin /lib /data /cases /tests; /tmp is new and empty.
 * Exit status 125: the container could not be made.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOT "/tmp/container"
#define USER 1000
#define LAST_CAPABILITY 63

static void must(int ret, const char *what)
{
	if (ret < 0) {
		fprintf(stderr, "in_container: %s: %s\n", what, strerror(errno));
		exit(125);
	}
}

static void make_folder(const char *path)
{
	must(mkdir(path, 0755) < 0 && errno != EEXIST ? -1 : 0, path);
}

static void show_folder(const char *path)
{
	char target[256];

	if (access(path, F_OK) != 0)
		return;
	snprintf(target, sizeof(target), ROOT "%s", path);
	make_folder(target);
	must(mount(path, target, NULL, MS_BIND | MS_REC, NULL), path);
	must(mount(NULL, target, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID, NULL), path);
}

/* What "docker run --device" does: the node, with its owner and mode. */
static void pass_node(const char *path)
{
	char target[256];
	struct stat st;

	must(stat(path, &st), path);
	snprintf(target, sizeof(target), ROOT "%s", path);
	must(mknod(target, st.st_mode, st.st_rdev), target);
	must(chown(target, st.st_uid, st.st_gid), target);
	must(chmod(target, st.st_mode & 07777), target);
}

static void make_root(char *const *nodes, int num_nodes)
{
	static const char *const folders[] = { "/bin", "/lib", "/data", "/cases", "/tests" };
	size_t i;

	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private mounts");
	make_folder(ROOT);
	must(mount("root", ROOT, "tmpfs", 0, NULL), ROOT);
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		show_folder(folders[i]);
	make_folder(ROOT "/dev");
	make_folder(ROOT "/dev/dri");
	make_folder(ROOT "/proc");
	make_folder(ROOT "/tmp");
	must(chmod(ROOT "/tmp", 01777), "/tmp");
	pass_node("/dev/null");
	for (; num_nodes > 0; num_nodes--)
		pass_node(*nodes++);
	must(mount("proc", ROOT "/proc", "proc", MS_NOSUID | MS_NOEXEC, NULL), "/proc");
	must(chroot(ROOT), "chroot");
	must(chdir("/"), "chdir");
}

static void drop_rights(int group)
{
	gid_t groups[] = { (gid_t)group };
	int capability;

	for (capability = 0; capability <= LAST_CAPABILITY; capability++)
		if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0 && errno != EINVAL)
			must(-1, "capabilities");
	must(setgroups(group >= 0 ? 1 : 0, groups), "setgroups");
	must(setresgid(USER, USER, USER), "setresgid");
	must(setresuid(USER, USER, USER), "setresuid");
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
}

int main(int argc, char **argv)
{
	char *nodes[8];
	int num_nodes = 0, group = -1, option, status;
	pid_t child;

	while ((option = getopt(argc, argv, "+n:g:")) != -1) {
		if (option == 'n' && num_nodes < 8)
			nodes[num_nodes++] = optarg;
		else if (option == 'g')
			group = atoi(optarg);
		else
			return 125;
	}
	if (optind == argc)
		return 125;
	must(unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWUTS),
	     "unshare");
	child = fork();
	must(child, "fork");
	if (child == 0) {
		make_root(nodes, num_nodes);
		drop_rights(group);
		execvp(argv[optind], &argv[optind]);
		must(-1, argv[optind]);
	}
	must(waitpid(child, &status, 0), "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
