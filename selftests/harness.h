/* SPDX-License-Identifier: MIT */
/*
 * A small test harness with the macro names of the kernel's selftests.
 *
 * Every test runs in a child process and process group of its own, with a
 * timeout, so that a crash or a hang costs one test and leaves nothing behind.
 * Output is TAP version 13. Exit status: 0 all passed, 1 a test failed, 4 all
 * tests were skipped.
 *
 * A program includes this header in exactly one file, the one that ends with
 * TEST_HARNESS_MAIN. ASSERT_* ends the test, EXPECT_* lets it go on; both make
 * it fail. SKIP(return, "why") ends it without a verdict.
 */
#ifndef RKNPU_SELFTEST_HARNESS_H
#define RKNPU_SELFTEST_HARNESS_H

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TEST_TIMEOUT_DEFAULT 30
#define TEST_EXIT_SKIPPED 4
#define TEST_SLOW_S 5 /* tests that take longer say so */

struct test_case {
	const char *fixture;
	const char *name;
	void (*run)(struct test_case *test);
	unsigned int timeout_s;
	bool failed;
	bool skipped;
	char reason[200];
	jmp_buf leave;
	struct test_case *next;
};

static struct test_case *test_first;
static struct test_case **test_end = &test_first;

static inline void test_register(struct test_case *test)
{
	*test_end = test;
	test_end = &test->next;
}

#define TH_LOG(fmt, ...)                                                                \
	do {                                                                            \
		printf("# %s:%d:%s: " fmt "\n", __FILE__, __LINE__, _test->name,        \
		       ##__VA_ARGS__);                                                  \
		fflush(stdout);                                                         \
	} while (0)

#define SKIP(statement, fmt, ...)                                                       \
	do {                                                                            \
		_test->skipped = true;                                                  \
		snprintf(_test->reason, sizeof(_test->reason), fmt, ##__VA_ARGS__);     \
		statement;                                                              \
	} while (0)

#define TEST_REGISTER(fixture_name, test_name, function, seconds)                       \
	static struct test_case test_name##_entry = {                                   \
		.fixture = fixture_name,                                                \
		.name = #test_name,                                                     \
		.run = function,                                                        \
		.timeout_s = seconds,                                                   \
	};                                                                              \
	static void __attribute__((constructor)) test_name##_register(void)             \
	{                                                                               \
		test_register(&test_name##_entry);                                      \
	}

#define TEST_TIMEOUT(test_name, seconds)                                                \
	static void test_name##_run(struct test_case *_test);                           \
	TEST_REGISTER("", test_name, test_name##_run, seconds)                          \
	static void test_name##_run(struct test_case *_test __attribute__((unused)))

#define TEST(test_name) TEST_TIMEOUT(test_name, TEST_TIMEOUT_DEFAULT)

#define FIXTURE(name) struct name##_data
#define FIXTURE_DATA(name) struct name##_data
#define FIXTURE_SETUP(name)                                                             \
	static void name##_setup(struct test_case *_test __attribute__((unused)),       \
				 struct name##_data *self __attribute__((unused)))
#define FIXTURE_TEARDOWN(name)                                                          \
	static void name##_teardown(struct test_case *_test __attribute__((unused)),    \
				    struct name##_data *self __attribute__((unused)))

/* The teardown runs whatever the test did, unless the set-up gave up. */
#define TEST_F_TIMEOUT(name, test_name, seconds)                                        \
	static void test_name##_body(struct test_case *_test, struct name##_data *self); \
	static void test_name##_run(struct test_case *test)                             \
	{                                                                               \
		static struct name##_data data;                                         \
		if (!setjmp(test->leave)) {                                             \
			name##_setup(test, &data);                                      \
			if (test->failed || test->skipped)                              \
				return;                                                 \
		} else {                                                                \
			return;                                                         \
		}                                                                       \
		if (!setjmp(test->leave))                                               \
			test_name##_body(test, &data);                                  \
		if (!setjmp(test->leave))                                               \
			name##_teardown(test, &data);                                   \
	}                                                                               \
	TEST_REGISTER(#name, test_name, test_name##_run, seconds)                       \
	static void test_name##_body(struct test_case *_test __attribute__((unused)),   \
				     struct name##_data *self __attribute__((unused)))

#define TEST_F(name, test_name) TEST_F_TIMEOUT(name, test_name, TEST_TIMEOUT_DEFAULT)

/* For integers only: both sides are widened to 64 bits first. */
#define TEST_COMPARE(fatal, expected, expected_text, seen, seen_text, op)               \
	do {                                                                            \
		long long _exp = (long long)(expected);                                 \
		long long _seen = (long long)(seen);                                    \
		if (_exp op _seen)                                                      \
			break;                                                          \
		TH_LOG("expected %s (%lld, 0x%llx) %s %s (%lld, 0x%llx)",               \
		       expected_text, _exp, (unsigned long long)_exp, #op, seen_text,   \
		       _seen, (unsigned long long)_seen);                               \
		_test->failed = true;                                                   \
		if (fatal)                                                              \
			longjmp(_test->leave, 1);                                       \
	} while (0)

#define ASSERT_EQ(expected, seen) TEST_COMPARE(true, expected, #expected, seen, #seen, ==)
#define ASSERT_NE(expected, seen) TEST_COMPARE(true, expected, #expected, seen, #seen, !=)
#define ASSERT_LT(expected, seen) TEST_COMPARE(true, expected, #expected, seen, #seen, <)
#define ASSERT_LE(expected, seen) TEST_COMPARE(true, expected, #expected, seen, #seen, <=)
#define ASSERT_GT(expected, seen) TEST_COMPARE(true, expected, #expected, seen, #seen, >)
#define ASSERT_GE(expected, seen) TEST_COMPARE(true, expected, #expected, seen, #seen, >=)
#define EXPECT_EQ(expected, seen) TEST_COMPARE(false, expected, #expected, seen, #seen, ==)
#define EXPECT_NE(expected, seen) TEST_COMPARE(false, expected, #expected, seen, #seen, !=)
#define EXPECT_LT(expected, seen) TEST_COMPARE(false, expected, #expected, seen, #seen, <)
#define EXPECT_LE(expected, seen) TEST_COMPARE(false, expected, #expected, seen, #seen, <=)
#define EXPECT_GT(expected, seen) TEST_COMPARE(false, expected, #expected, seen, #seen, >)
#define EXPECT_GE(expected, seen) TEST_COMPARE(false, expected, #expected, seen, #seen, >=)

#define TEST_CHECK(fatal, condition, text)                                              \
	do {                                                                            \
		if (condition)                                                          \
			break;                                                          \
		TH_LOG("%s does not hold", text);                                       \
		_test->failed = true;                                                   \
		if (fatal)                                                              \
			longjmp(_test->leave, 1);                                       \
	} while (0)

#define ASSERT_TRUE(condition) TEST_CHECK(true, condition, #condition)
#define EXPECT_TRUE(condition) TEST_CHECK(false, condition, #condition)
#define ASSERT_FALSE(condition) TEST_CHECK(true, !(condition), "!(" #condition ")")
#define EXPECT_FALSE(condition) TEST_CHECK(false, !(condition), "!(" #condition ")")

#define TEST_STRCMP(fatal, expected, seen)                                              \
	do {                                                                            \
		const char *_exp = (expected), *_seen = (seen);                         \
		if (strcmp(_exp, _seen) == 0)                                           \
			break;                                                          \
		TH_LOG("expected \"%s\", seen \"%s\"", _exp, _seen);                    \
		_test->failed = true;                                                   \
		if (fatal)                                                              \
			longjmp(_test->leave, 1);                                       \
	} while (0)

#define ASSERT_STREQ(expected, seen) TEST_STRCMP(true, expected, seen)
#define EXPECT_STREQ(expected, seen) TEST_STRCMP(false, expected, seen)

/* What a child reports; lives in memory that parent and child share. */
struct test_report {
	bool failed;
	bool skipped;
	char reason[200];
};

static pid_t test_child;
static volatile sig_atomic_t test_timed_out;

static void test_on_alarm(int signal_number)
{
	(void)signal_number;
	test_timed_out = 1;
	kill(-test_child, SIGKILL);
	kill(test_child, SIGKILL);
}

static inline void test_child_run(struct test_case *test, struct test_report *report)
{
	setpgid(0, 0);
	if (test->fixture[0] || !setjmp(test->leave))
		test->run(test);
	report->failed = test->failed;
	report->skipped = test->skipped;
	memcpy(report->reason, test->reason, sizeof(report->reason));
	fflush(stdout);
	_exit(0);
}

/* A kernel with checkers is many times slower: RKNPU_TEST_PATIENCE multiplies all timeouts. */
static inline unsigned int test_timeout_s(const struct test_case *test)
{
	const char *text = getenv("RKNPU_TEST_PATIENCE");
	int factor = text ? atoi(text) : 1;

	return test->timeout_s * (unsigned int)(factor > 0 ? factor : 1);
}

/* Returns the wait status. */
static inline int test_fork(struct test_case *test, struct test_report *report)
{
	int status = 0;

	test_timed_out = 0;
	fflush(stdout);
	test_child = fork();
	if (test_child == 0)
		test_child_run(test, report);
	setpgid(test_child, test_child);
	alarm(test_timeout_s(test));
	while (waitpid(test_child, &status, 0) < 0 && errno == EINTR)
		continue;
	alarm(0);
	kill(-test_child, SIGKILL);
	return status;
}

static inline void test_one(struct test_case *test, struct test_report *report,
			    unsigned int number)
{
	const char *dot = test->fixture[0] ? "." : "";
	time_t start = time(NULL);
	int status;

	memset(report, 0, sizeof(*report));
	status = test_fork(test, report);
	if (time(NULL) - start > TEST_SLOW_S)
		printf("# %s: took %ld s\n", test->name, (long)(time(NULL) - start));
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		report->failed = true;
		if (test_timed_out)
			printf("# %s: no end after %u s\n", test->name, test_timeout_s(test));
		else if (WIFSIGNALED(status))
			printf("# %s: ended by signal %d\n", test->name, WTERMSIG(status));
		else
			printf("# %s: left with status %d\n", test->name, WEXITSTATUS(status));
	}
	if (report->failed)
		report->skipped = false;
	printf("%sok %u %s%s%s", report->failed ? "not " : "", number, test->fixture, dot,
	       test->name);
	printf(report->skipped ? " # SKIP %s\n" : "\n", report->reason);
	fflush(stdout);
}

static inline bool test_selected(const struct test_case *test, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (strstr(test->name, argv[i]) || strcmp(test->fixture, argv[i]) == 0)
			return true;
	}
	return argc < 2;
}

/* Arguments: parts of test names, or whole fixture names; none = all tests. */
static inline int test_harness_run(int argc, char **argv)
{
	unsigned int total = 0, number = 0, failed = 0, skipped = 0;
	struct sigaction action = { .sa_handler = test_on_alarm };
	struct test_report *report;
	struct test_case *test;

	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (report == MAP_FAILED)
		return 1;
	sigaction(SIGALRM, &action, NULL);
	for (test = test_first; test; test = test->next)
		total += test_selected(test, argc, argv);
	printf("TAP version 13\n1..%u\n", total);
	for (test = test_first; test; test = test->next) {
		if (!test_selected(test, argc, argv))
			continue;
		test_one(test, report, ++number);
		failed += report->failed;
		skipped += report->skipped;
	}
	printf("# Totals: pass:%u fail:%u skip:%u\n", total - failed - skipped, failed, skipped);
	if (failed || !total)
		return 1;
	return skipped == total ? TEST_EXIT_SKIPPED : 0;
}

#define TEST_HARNESS_MAIN                                                               \
	int main(int argc, char **argv)                                                 \
	{                                                                               \
		return test_harness_run(argc, argv);                                    \
	}

#endif
