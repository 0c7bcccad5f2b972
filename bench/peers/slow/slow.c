// A server that makes its clients wait: every connection has a thread of its own, which sleeps for a random time
// before it answers a request with bytes that were prepared.
//
//   slow MEAN-MICROSECONDS LEAST MOST HELLO OLD-HELLO FIND OTHER
//
// The times are exponential, at least LEAST and at most MOST microseconds long. HELLO, OLD-HELLO, FIND and OTHER are
// files with whole replies: to hello, to a greeting in OP_QUERY, to find and to any other command. Greetings are
// answered at once. The program prints HOST:PORT and ends when its standard input does.
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEADER = 16, NAME = HEADER + 4 + 1 + 4 + 1, BUFFER = 1 << 20, REPLY = 1 << 20, OP_QUERY = 2004 };
enum { HELLO, OLD_HELLO, FIND, OTHER, REPLIES };

static unsigned char reply[REPLIES][REPLY];
static size_t reply_size[REPLIES];
static double mean, least, most;

static void die(const char *what) {
	fprintf(stderr, "slow: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint32_t little_endian(const unsigned char *p) {
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

// next_random is xorshift64* (Vigna 2014), its upper 53 bits as a fraction.
static double next_random(uint64_t *state) {
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (double)((*state * 0x2545f4914f6cdd1dULL) >> 11) / 9007199254740992.0;
}

static void pause_for(double microseconds) {
	struct timespec t = {(time_t)(microseconds / 1e6), (long)(microseconds * 1e3) % 1000000000L};
	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

// read_request reads one whole message and returns its length, 0 at the end of the connection.
static size_t read_request(int fd, unsigned char *buf) {
	size_t have = 0, want = HEADER;
	while (have < want) {
		ssize_t n = recv(fd, buf + have, want - have, 0);
		if (n <= 0)
			return 0;
		have += (size_t)n;
		if (have == HEADER && want == HEADER)
			want = little_endian(buf);
		if (want < NAME || want > BUFFER)
			if (have >= HEADER)
				return 0;
	}
	return have;
}

static int kind_of(const unsigned char *buf) {
	const char *name = (const char *)buf + NAME;
	if (little_endian(buf + 12) == OP_QUERY)
		return OLD_HELLO;
	if (strcmp(name, "hello") == 0 || strcmp(name, "isMaster") == 0)
		return HELLO;
	return strcmp(name, "find") == 0 ? FIND : OTHER;
}

static void *serve(void *argument) {
	int fd = (int)(intptr_t)argument;
	unsigned char *in = malloc(BUFFER), *out = malloc(REPLY);
	uint64_t state = 0x9e3779b97f4a7c15ULL * (uint64_t)(fd + 1);
	prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
	size_t n;
	while (in != NULL && out != NULL && (n = read_request(fd, in)) > 0) {
		in[n - 1] = 0;
		int kind = kind_of(in);
		if (kind == FIND || kind == OTHER)
			pause_for(fmin(most, fmax(least, -mean * log1p(-next_random(&state)))));
		memcpy(out, reply[kind], reply_size[kind]);
		memcpy(out + 8, in + 4, 4); // which request it answers
		if (send(fd, out, reply_size[kind], MSG_NOSIGNAL) != (ssize_t)reply_size[kind])
			break;
	}
	close(fd);
	free(in);
	free(out);
	return NULL;
}

static void *watch_input(void *unused) {
	char c;
	(void)unused;
	while (read(0, &c, 1) > 0)
		;
	exit(0);
}

int main(int argc, char **argv) {
	if (argc != 4 + REPLIES) {
		fprintf(stderr, "usage: slow MEAN-MICROSECONDS LEAST MOST HELLO OLD-HELLO FIND OTHER\n");
		return 2;
	}
	mean = atof(argv[1]), least = atof(argv[2]), most = atof(argv[3]);
	for (int i = 0; i < REPLIES; i++) {
		FILE *f = fopen(argv[4 + i], "rb");
		if (f == NULL)
			die(argv[4 + i]);
		reply_size[i] = fread(reply[i], 1, REPLY, f);
		fclose(f);
	}
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 1024) != 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &size) != 0)
		die("listen");
	printf("127.0.0.1:%d\n", ntohs(address.sin_port));
	fflush(stdout);
	pthread_attr_t small;
	pthread_t id;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 << 10);
	pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
	pthread_create(&id, &small, watch_input, NULL);
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		if (fd < 0)
			die("accept");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		if (pthread_create(&id, &small, serve, (void *)(intptr_t)fd) != 0)
			close(fd);
	}
}
