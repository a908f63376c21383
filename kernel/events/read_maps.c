// SPDX-License-Identifier: GPL-2.0
/*
 * Records about the kernel, its modules, and living tasks. perf needs them to resolve the
 * addresses and to name the tasks of a perf.data stream.
 */
#include <linux/bits.h>
#include <linux/buildid.h>
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/kernel.h>
#include <linux/kdev_t.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/utsname.h>

#include <asm/sections.h>

#include "read.h"
#include "read_data.h"

/* As in tools/lib/perf/include/perf/event.h */
#define PERF_RECORD_HEADER_BUILD_ID	67
#define PERF_RECORD_MISC_BUILD_ID_SIZE	BIT(15)

#define KERNEL_BUILD_ID_SIZE	20

/* Body of PERF_RECORD_HEADER_BUILD_ID; a name follows */
struct build_id_body {
	s32	pid;
	u8	id[KERNEL_BUILD_ID_SIZE];
	u8	size;
	u8	reserved[3];
};

/*
 * The kernel and its modules
 */

static void add_kernel_map(struct perf_out *out, u64 start, u64 len, u64 pgoff, const char *name)
{
	const struct perf_mmap_body body = {
		.pid	= -1,
		.start	= start,
		.len	= len,
		.pgoff	= pgoff,
	};
	size_t record;

	record = perf_out_begin(out, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	perf_out_add(out, &body, sizeof(body));
	perf_out_add(out, name, strlen(name) + 1);
	perf_out_end(out, record, true);
}

static void add_build_id(struct perf_out *out, const u8 *id, const char *name)
{
	struct build_id_body body = { .pid = -1, .size = KERNEL_BUILD_ID_SIZE };
	size_t record;

	memcpy(body.id, id, sizeof(body.id));
	record = perf_out_begin(out, PERF_RECORD_HEADER_BUILD_ID,
				PERF_RECORD_MISC_KERNEL | PERF_RECORD_MISC_BUILD_ID_SIZE);
	perf_out_add(out, &body, sizeof(body));
	perf_out_add(out, name, strlen(name) + 1);
	perf_out_end(out, record, false);
}

/**
 * perf_out_kernel - add the address and the build id of the kernel
 * @out:	the output
 *
 * The address may be secret: adds nothing unless perf_may_know_kernel().
 */
void perf_out_kernel(struct perf_out *out)
{
	u64 text = (unsigned long)_text;
	u8 id[BUILD_ID_SIZE_MAX] = { };

	if (!perf_may_know_kernel())
		return;
	/* The name tells which symbol is at pgoff: perf computes the KASLR offset from it. */
	add_kernel_map(out, text, (unsigned long)_end - text, text, "[kernel.kallsyms]_text");
	if (!build_id_parse_buf(&__start_notes, id, &__stop_notes - &__start_notes))
		add_build_id(out, id, "[kernel.kallsyms]");
}

static bool is_known(struct perf_modules *modules, unsigned long base)
{
	unsigned int i;

	for (i = modules->nr; i--; ) {
		if (modules->bases[i] == base)
			return true;
	}
	return false;
}

static bool make_known(struct perf_modules *modules, unsigned long base)
{
	unsigned long *bases;
	unsigned int max;

	if (modules->nr == modules->max) {
		max = modules->max ? 2 * modules->max : 16;
		bases = krealloc_array(modules->bases, max, sizeof(*bases), PERF_COPY_GFP);
		if (!bases)
			return false;
		modules->bases = bases;
		modules->max = max;
	}
	modules->bases[modules->nr++] = base;
	return true;
}

/*
 * The kernel does not know the path of a module's file. Use a path nevertheless: perf would
 * take any other name for kallsyms, and not look for the file with the build id.
 */
#define MODULE_PATH	"/lib/modules/%s/%s.ko"

/**
 * struct module_code - the code of a module
 * @base:	its start address
 * @size:	its size in bytes
 * @build_id:	build id of the module; zeros if the kernel does not keep it
 * @name:	file name for perf
 */
struct module_code {
	unsigned long	base;
	unsigned long	size;
	u8		build_id[BUILD_ID_SIZE_MAX];
	char		name[sizeof(MODULE_PATH) + __NEW_UTS_LEN + MODULE_NAME_LEN];
};

#ifdef CONFIG_MODULES
/* Find the module whose code includes @ip. Returns false if there is none. */
static bool find_module_at(unsigned long ip, struct module_code *code)
{
	const unsigned char *build_id;
	struct module *mod;

	guard(preempt)();
	mod = __module_text_address(ip);
	if (!mod)
		return false;
	code->base = (unsigned long)mod->mem[MOD_TEXT].base;
	code->size = mod->mem[MOD_TEXT].size;
	build_id = module_buildid(mod);
	if (build_id)
		memcpy(code->build_id, build_id, sizeof(code->build_id));
	snprintf(code->name, sizeof(code->name), MODULE_PATH, init_utsname()->release, mod->name);
	return true;
}
#else
static bool find_module_at(unsigned long ip, struct module_code *code)
{
	return false;
}
#endif

static int add_module(struct perf_out *out, struct perf_modules *modules, u64 ip)
{
	struct module_code code = { };

	if (core_kernel_text(ip) || !find_module_at(ip, &code) || is_known(modules, code.base))
		return 0;
	if (!make_known(modules, code.base))
		return -ENOMEM;
	add_kernel_map(out, code.base, code.size, 0, code.name);
	if (memchr_inv(code.build_id, 0, sizeof(code.build_id)))
		add_build_id(out, code.build_id, code.name);
	return 0;
}

static int add_modules_of(struct perf_out *out, struct perf_modules *modules,
			  const struct perf_copy_record *record)
{
	bool kernel = (record->header->misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
		      PERF_RECORD_MISC_KERNEL;
	int ret = 0;
	u64 i;

	if (kernel && record->ip)
		ret = add_module(out, modules, record->ip);
	for (i = 0; i < record->nr_ips && !ret; i++) {
		u64 ip = record->ips[i];

		if (ip >= PERF_CONTEXT_MAX)
			kernel = ip == PERF_CONTEXT_KERNEL;
		else if (kernel)
			ret = add_module(out, modules, ip);
	}
	return ret;
}

/**
 * perf_out_modules - add the modules whose code occurs in the samples of a copy
 * @out:	the output
 * @modules:	modules that the stream has described; new ones are added
 * @events:	the events of the copy
 * @copy:	the copy
 *
 * Adds modules that are loaded now. Addresses of a module that was unloaded cannot be
 * resolved, or another module that is there now is taken for it.
 *
 * Return: 0, -ENOMEM, or -EINTR.
 */
int perf_out_modules(struct perf_out *out, struct perf_modules *modules,
		     const struct perf_copy_events *events, const struct perf_copy *copy)
{
	struct perf_copy_record record;
	unsigned long i;
	int ret = 0;

	if (!perf_may_know_kernel())
		return 0;
	for (i = 0; i < copy->nr && !ret; i++) {
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		if (perf_copy_header(copy, i)->type != PERF_RECORD_SAMPLE)
			continue;
		perf_copy_read(copy, events, i, &record);
		ret = add_modules_of(out, modules, &record);
	}
	return ret;
}

/*
 * Tasks
 */

static void add_comm(struct perf_out *out, struct task_struct *task, u32 pid, u32 tid)
{
	const u32 ids[] = { pid, tid };
	char comm[TASK_COMM_LEN];
	size_t record;

	get_task_comm(comm, task);
	record = perf_out_begin(out, PERF_RECORD_COMM, 0);
	perf_out_add(out, ids, sizeof(ids));
	perf_out_add(out, comm, strlen(comm) + 1);
	perf_out_end(out, record, true);
}

static const char *vma_name(struct vm_area_struct *vma, char *path)
{
	const char *name = NULL;

	if (vma->vm_file) {
		name = d_path(file_user_path(vma->vm_file), path, PATH_MAX);
		return IS_ERR(name) ? "//toolong" : name;
	}
	if (vma->vm_ops && vma->vm_ops->name)
		name = vma->vm_ops->name(vma);
	return name ?: arch_vma_name(vma) ?: "//anon";
}

/*
 * With a build id, perf does not confuse the program with another one of that name. Use the
 * build id only if it is in memory: the caller holds mmap_lock, and must not read the file.
 */
static bool find_build_id(struct perf_mmap2_body *body, struct vm_area_struct *vma)
{
	u32 size;

	if (build_id_parse_nofault(vma, body->build_id, &size))
		return false;
	body->build_id_size = size;
	return true;
}

static void set_inode(struct perf_mmap2_body *body, struct file *file)
{
	const struct inode *inode = file_user_inode(file);

	body->maj = MAJOR(inode->i_sb->s_dev);
	body->min = MINOR(inode->i_sb->s_dev);
	body->ino = inode->i_ino;
	body->ino_generation = inode->i_generation;
}

static u32 map_flags(const struct vm_area_struct *vma)
{
	u32 flags = vma->vm_flags & VM_MAYSHARE ? MAP_SHARED : MAP_PRIVATE;

	if (vma->vm_flags & VM_LOCKED)
		flags |= MAP_LOCKED;
	if (is_vm_hugetlb_page((struct vm_area_struct *)vma))
		flags |= MAP_HUGETLB;
	return flags;
}

static void add_vma(struct perf_out *out, struct vm_area_struct *vma, u32 pid, char *path)
{
	struct perf_mmap2_body body = {
		.map	= {
			.pid	= pid,
			.tid	= pid,
			.start	= vma->vm_start,
			.len	= vma->vm_end - vma->vm_start,
			.pgoff	= (u64)vma->vm_pgoff << PAGE_SHIFT,
		},
		.prot	= PROT_EXEC,
		.flags	= map_flags(vma),
	};
	const char *name = vma_name(vma, path);
	u16 misc = PERF_RECORD_MISC_USER;
	size_t record;

	if (vma->vm_flags & VM_READ)
		body.prot |= PROT_READ;
	if (vma->vm_flags & VM_WRITE)
		body.prot |= PROT_WRITE;
	if (find_build_id(&body, vma))
		misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
	else if (vma->vm_file)
		set_inode(&body, vma->vm_file);
	record = perf_out_begin(out, PERF_RECORD_MMAP2, misc);
	perf_out_add(out, &body, sizeof(body));
	perf_out_add(out, name, strlen(name) + 1);
	perf_out_end(out, record, true);
}

/* Add the maps from living->address on, until @out has @enough bytes. */
static int add_vmas(struct perf_out *out, struct mm_struct *mm, struct perf_living *living,
		    char *path, size_t enough)
{
	struct vm_area_struct *vma;
	struct vma_iterator vmi;

	vma_iter_init(&vmi, mm, living->address);
	living->address = 0;
	for_each_vma(vmi, vma) {
		if (!(vma->vm_flags & VM_EXEC))
			continue;
		if (fatal_signal_pending(current))
			return -EINTR;
		add_vma(out, vma, living->tid, path);
		if (out->len >= enough) {
			living->address = vma->vm_end;
			break;
		}
	}
	return 0;
}

/*
 * Get the mm of @task, if the reader may read its /proc/PID/maps. mm_access() always allows a
 * task to see its own mm. With the overridden creds of an opener, that would show the maps of
 * current to the opener without a check, so return NULL.
 */
static struct mm_struct *get_mm(struct task_struct *task)
{
	struct mm_struct *mm = mm_access(task, PTRACE_MODE_READ_FSCREDS | PTRACE_MODE_NOAUDIT);

	if (IS_ERR_OR_NULL(mm))
		return NULL;
	if (mm != current->mm || current_cred() == current_real_cred())
		return mm;
	mmput(mm);
	return NULL;
}

static int add_maps(struct perf_out *out, struct task_struct *task, struct perf_living *living,
		    size_t enough)
{
	struct mm_struct *mm;
	char *path;
	int ret;

	if (task->flags & PF_KTHREAD)
		return 0;
	mm = get_mm(task);
	if (!mm) {
		living->address = 0;
		return 0;
	}
	path = kmalloc(PATH_MAX, PERF_COPY_GFP);
	/*
	 * Allocate before mmap_lock is taken, as the task may be waiting for it. The last map
	 * may exceed @enough.
	 */
	if (!path || !perf_out_room(out, enough + sizeof(struct perf_mmap2_body) + 2 * PATH_MAX))
		ret = -ENOMEM;
	else
		ret = mmap_read_lock_killable(mm);
	if (!ret) {
		ret = add_vmas(out, mm, living, path, enough);
		mmap_read_unlock(mm);
	}
	kfree(path);
	mmput(mm);
	return ret;
}

/* Find the next task. Returns it with a reference, or NULL after the last one. */
static struct task_struct *next_living(struct perf_living *living)
{
	struct task_struct *task;
	int tid = living->tid;

	/* If maps of the last task are still missing, continue with this task. */
	if (!living->address)
		tid++;
	task = perf_next_task(&tid, living->pid_ns);
	if (tid != living->tid)
		living->address = 0;
	living->tid = tid;
	return task;
}

/* Does the stream have all maps of the task? Records of later maps must not be missing. */
static bool has_maps(const struct perf_living *living, unsigned long told)
{
	if (!(told & PERF_TOLD_MAPS) || living->since == U64_MAX)
		return false;
	return !living->since || (told & ~PERF_TOLD_FLAGS) > perf_told_time(living->since);
}

static int add_living(struct perf_out *out, struct task_struct *task, struct perf_living *living,
		      size_t enough)
{
	unsigned long told = perf_told(living->told, living->tid);
	u32 pid = task_tgid_nr_ns(task, living->pid_ns);
	unsigned long address = living->address;

	/* If this is another task with the same tid, next_living() must not return it again. */
	living->address = 0;
	/* @pid is 0 if the task has exited. Its pid may be a reused one if it is too new. */
	if (!pid || task->start_boottime >= living->before)
		return 0;
	if (living->viewer && !task_pid_nr_ns(task, living->viewer))
		return 0;
	if (living->recorded && !(perf_told(living->told, pid) & PERF_TOLD_RUNS))
		return 0;
	if (!(told & PERF_TOLD_NAME) && !address && perf_may_know_name(task))
		add_comm(out, task, pid, living->tid);
	if (pid != living->tid || has_maps(living, told))
		return 0;
	living->address = address;
	return add_maps(out, task, living, enough);
}

/**
 * perf_out_living - add names of living tasks, and their executable maps
 * @out:	the output
 * @living:	the walk over the tasks; updated
 * @enough:	stop when the output has this many bytes
 *
 * These records have no time, and perf applies them to the whole recording. So do not add
 * names or maps of tasks for which the stream has records with a time, see has_maps().
 *
 * Return: 1 if there may be more tasks; 0 after the last one; -ENOMEM, or -EINTR.
 */
int perf_out_living(struct perf_out *out, struct perf_living *living, size_t enough)
{
	struct task_struct *task;
	int ret = 0;

	while (!ret && !out->failed && out->len < enough) {
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		task = next_living(living);
		if (!task)
			return 0;
		ret = add_living(out, task, living, enough);
		put_task_struct(task);
	}
	if (out->failed)
		ret = -ENOMEM;
	return ret ? ret : 1;
}
