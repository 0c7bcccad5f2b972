// The lower limit for a client with one blocking connection per worker: each thread sends the same
// message again and again, reads the whole reply and looks at nothing but its length.
//
//   cloop HOST PORT MESSAGE-FILE THREADS OPERATIONS
//
// It prints one line of JSON with the user and system time of the process per operation, counted from
// when all threads are connected.
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

enum { HEADER = 16, REPLY = 1 << 16, MESSAGE = 1 << 16 };

static unsigned char message[MESSAGE];
static size_t message_size;
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

static void *work(void *unused) {
	unsigned char *buf = malloc(REPLY);
	int fd = dial();
	(void)unused;
	if (buf == NULL)
		die("malloc");
	pthread_barrier_wait(&begin);
	for (long i = 0; i < operations_each; i++) {
		send_all(fd, message, message_size);
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
	if (argc != 6) {
		fprintf(stderr, "usage: cloop HOST PORT MESSAGE-FILE THREADS OPERATIONS\n");
		return 2;
	}
	FILE *f = fopen(argv[3], "rb");
	if (f == NULL)
		die(argv[3]);
	message_size = fread(message, 1, sizeof message, f);
	fclose(f);
	address.sin_family = AF_INET;
	address.sin_port = htons((uint16_t)atoi(argv[2]));
	if (inet_pton(AF_INET, argv[1], &address.sin_addr) != 1)
		die(argv[1]);
	long threads = atol(argv[4]), operations = atol(argv[5]);
	if (threads < 1 || threads > 1024 || operations < threads || message_size < HEADER) {
		fprintf(stderr, "cloop: bad number of threads or operations, or an empty message\n");
		return 2;
	}
	operations_each = operations / threads;
	pthread_barrier_init(&begin, NULL, (unsigned)threads + 1);
	pthread_t id[1024];
	for (long i = 0; i < threads; i++)
		if (pthread_create(&id[i], NULL, work, NULL) != 0)
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
