// The lower limit for a client with one blocking connection per worker: each thread sends the messages of
// a file one after the other, reads the whole reply and looks at nothing but its length.
//
//   cloop HOST PORT MESSAGE-FILE THREADS OPERATIONS [RATE]
//
// With a rate, in operations per second of all threads, each thread sends at equal distances; one that is
// late sends at once. The program prints one line of JSON with the user and system time of the process per
// operation, counted from when all threads are connected.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEADER = 16, REPLY = 1 << 16, MESSAGES = 1 << 24, MOST = 1 << 16, THREADS = 1024 };

static unsigned char messages[MESSAGES];
static const unsigned char *message[MOST + 1];
static long message_count;
static double rate;
static long threads;
static struct sockaddr_in address;
static long operations_each;
static pthread_barrier_t begin;

static void die(const char *what) {
	fprintf(stderr, "cloop: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void send_all(int fd, const unsigned char *p, size_t n) {
	while (n > 0) {
		ssize_t done = send(fd, p, n, MSG_NOSIGNAL);
		if (done <= 0)
			die("send");
		p += done;
		n -= (size_t)done;
	}
}

static uint32_t little_endian(const unsigned char *p) {
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

// read_reply reads one whole message; its first four bytes are its length.
static void read_reply(int fd, unsigned char *buf) {
	size_t have = 0, want = HEADER;
	while (have < want) {
		ssize_t n = recv(fd, buf + have, REPLY - have, 0);
		if (n <= 0)
			die("receive");
		have += (size_t)n;
		if (have >= 4 && want == HEADER)
			want = little_endian(buf);
		if (want < HEADER || want > REPLY) {
			errno = EMSGSIZE;
			die("reply");
		}
	}
}

static int dial(void) {
	int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		die("connect");
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
		die("setsockopt");
	return fd;
}

// split finds the messages in the file; the first four bytes of each are its length.
static void split(size_t size) {
	const unsigned char *p = messages, *end = messages + size;
	while (end - p >= HEADER && message_count < MOST && little_endian(p) >= HEADER && little_endian(p) <= (size_t)(end - p)) {
		message[message_count++] = p;
		p += little_endian(p);
	}
	message[message_count] = p;
}

// wait_for waits until operation i of a thread is due.
static void wait_for(const struct timespec *start, long thread, long i) {
	double after = ((double)i * (double)threads + (double)thread) / rate;
	struct timespec due = *start;
	due.tv_sec += (time_t)after;
	due.tv_nsec += (long)((after - (double)(time_t)after) * 1e9);
	if (due.tv_nsec >= 1000000000L) {
		due.tv_sec++;
		due.tv_nsec -= 1000000000L;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
		;
}

static void *work(void *number) {
	long thread = (long)(intptr_t)number;
	unsigned char *buf = malloc(REPLY);
	int fd = dial();
	struct timespec start;
	if (buf == NULL)
		die("malloc");
	pthread_barrier_wait(&begin);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (long i = 0; i < operations_each; i++) {
		long m = (thread * 97 + i) % message_count;
		if (rate > 0)
			wait_for(&start, thread, i);
		send_all(fd, message[m], (size_t)(message[m + 1] - message[m]));
		read_reply(fd, buf);
	}
	close(fd);
	free(buf);
	return NULL;
}

static double cpu_microseconds(void) {
	struct rusage u;
	if (getrusage(RUSAGE_SELF, &u) != 0)
		die("getrusage");
	return 1e6 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static double seconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
	if (argc != 6 && argc != 7) {
		fprintf(stderr, "usage: cloop HOST PORT MESSAGE-FILE THREADS OPERATIONS [RATE]\n");
		return 2;
	}
	FILE *f = fopen(argv[3], "rb");
	if (f == NULL)
		die(argv[3]);
	split(fread(messages, 1, sizeof messages, f));
	fclose(f);
	address.sin_family = AF_INET;
	address.sin_port = htons((uint16_t)atoi(argv[2]));
	if (inet_pton(AF_INET, argv[1], &address.sin_addr) != 1)
		die(argv[1]);
	threads = atol(argv[4]);
	long operations = atol(argv[5]);
	rate = argc == 7 ? atof(argv[6]) : 0;
	if (threads < 1 || threads > THREADS || operations < threads || message_count == 0) {
		fprintf(stderr, "cloop: bad number of threads or operations, or no message\n");
		return 2;
	}
	operations_each = operations / threads;
	pthread_barrier_init(&begin, NULL, (unsigned)threads + 1);
	pthread_t id[THREADS];
	for (long i = 0; i < threads; i++)
		if (pthread_create(&id[i], NULL, work, (void *)(intptr_t)i) != 0)
			die("pthread_create");
	pthread_barrier_wait(&begin);
	double cpu = cpu_microseconds(), start = seconds();
	for (long i = 0; i < threads; i++)
		pthread_join(id[i], NULL);
	cpu = cpu_microseconds() - cpu;
	start = seconds() - start;
	long done = operations_each * threads;
	printf("{\"operations\":%ld,\"cpu_us_per_op\":%.4f,\"seconds\":%.4f}\n", done, cpu / (double)done, start);
	return 0;
}
