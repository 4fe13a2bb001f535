/*
 * A model upstream that costs next to nothing, for `make bench`.
 *
 *     upstream PORT [PACE_MS [SLOW_MS]]
 *
 * It listens on loopback only, on three ports: PORT answers at once, PORT+1 sends a stream's events
 * PACE_MS apart, PORT+2 SLOW_MS apart.  One thread, one epoll, HTTP/1.1 with keep-alive.
 *
 *     POST .../chat/completions   an answer of OpenAI's shape, or its stream
 *     POST .../messages           an answer of Anthropic's shape, or its stream
 *     GET  /stats                 {"requests":…,"connections":…}
 *
 * A stream has EVENTS pieces of text, each in a write of its own, as a real upstream's are.  Each
 * event holds its number and, on the paced ports, the moment it left ("sent_us", the machine's
 * monotonic clock), so that a reader can tell whether one is missing, out of order or late.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 100, MOST_PIECES = EVENTS + 8, LONGEST_REQUEST = 4 << 20, MOST_FDS = 16384 };
#define STAMP "0000000000000000"

typedef struct { char *text; size_t size; size_t stamp; } Piece; /* stamp: its place, or 0 */
typedef struct { Piece pieces[MOST_PIECES]; int count; } Answer;

typedef struct Peer {
  int fd, pace_ms, piece;        /* piece: the one that is being sent */
  size_t sent;                   /* of that piece */
  char *in; size_t used, room;
  const Answer *answer;          /* NULL: no request is being answered */
  uint64_t due_us;
  char *copy;                    /* the stamped copy of a piece */
  struct Peer *earlier, *later;  /* the line of those that wait for their time */
  int waits;
} Peer;

typedef struct { Peer *first, *last; } Line; /* in one line all wait equally long: it is sorted */

static Answer chat_whole, chat_stream, messages_whole, messages_stream, other, stats;
static Line lines[3];
static int listeners[3], paces[3], poller;
static Peer *peers[MOST_FDS];
static unsigned long long requests, connections;

static uint64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void fail(const char *what) { perror(what); exit(1); }

/* What is answered */

static void add(Answer *answer, const char *before, const char *text, int chunked, const char *after) {
  Piece *piece = &answer->pieces[answer->count++];
  int size = chunked ? asprintf(&piece->text, "%s%zx\r\n%s\r\n%s", before, strlen(text), text, after)
                     : asprintf(&piece->text, "%s%s%s", before, text, after);
  if (size < 0) fail("memory");
  piece->size = size;
  char *stamp = strstr(piece->text, STAMP);
  piece->stamp = stamp ? stamp - piece->text : 0;
}

static void add_whole(Answer *answer, const char *body) {
  char head[256];
  snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
           "x-request-id: req_bench\r\ncontent-length: %zu\r\n\r\n", strlen(body));
  answer->count = 0;
  add(answer, head, body, 0, "");
}

static const char *const STREAM_HEAD =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    "cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";

static void build(void) {
  char text[1200], body[4096], event[1024];
  size_t size = 0;
  for (int word = 0; size < 1000; word++) size += sprintf(text + size, "word%d ", word % 89);

  snprintf(body, sizeof body, "{\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion\",\"created\":1790000000,"
      "\"model\":\"bench-model\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"%s\","
      "\"refusal\":null},\"logprobs\":null,\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":40,"
      "\"completion_tokens\":180,\"total_tokens\":220}}", text);
  add_whole(&chat_whole, body);
  snprintf(body, sizeof body, "{\"id\":\"msg_bench\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"bench-model\","
      "\"content\":[{\"type\":\"text\",\"text\":\"%s\"}],\"stop_reason\":\"end_turn\",\"stop_sequence\":null,"
      "\"usage\":{\"input_tokens\":40,\"output_tokens\":180}}", text);
  add_whole(&messages_whole, body);
  add_whole(&other, "{}");

  for (int number = 0; number < EVENTS; number++) {
    snprintf(event, sizeof event, "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1790000000,"
        "\"model\":\"bench-model\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word%d \"},\"finish_reason\":null}],"
        "\"number\":%d,\"sent_us\":\"" STAMP "\"}\n\n", number % 89, number);
    add(&chat_stream, number ? "" : STREAM_HEAD, event, 1, "");
  }
  add(&chat_stream, "", "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1790000000,"
      "\"model\":\"bench-model\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n", 1, "");
  add(&chat_stream, "", "data: [DONE]\n\n", 1, "0\r\n\r\n");

  add(&messages_stream, STREAM_HEAD, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_bench\","
      "\"type\":\"message\",\"role\":\"assistant\",\"model\":\"bench-model\",\"content\":[],\"stop_reason\":null,"
      "\"stop_sequence\":null,\"usage\":{\"input_tokens\":40,\"output_tokens\":1}}}\n\n", 1, "");
  add(&messages_stream, "", "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,"
      "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n", 1, "");
  for (int number = 0; number < EVENTS; number++) {
    snprintf(event, sizeof event, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
        "\"delta\":{\"type\":\"text_delta\",\"text\":\"word%d \"},\"number\":%d,\"sent_us\":\"" STAMP "\"}\n\n",
        number % 89, number);
    add(&messages_stream, "", event, 1, "");
  }
  add(&messages_stream, "", "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n", 1, "");
  add(&messages_stream, "", "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\","
      "\"stop_sequence\":null},\"usage\":{\"output_tokens\":180}}\n\n", 1, "");
  add(&messages_stream, "", "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", 1, "0\r\n\r\n");
}

static const Answer *count_up(void) {
  char body[128];
  snprintf(body, sizeof body, "{\"requests\":%llu,\"connections\":%llu}", requests, connections);
  if (stats.count) free(stats.pieces[0].text);
  add_whole(&stats, body);
  return &stats;
}

/* Peers */

static Line *line_of(const Peer *peer) {
  for (int at = 1; at < 3; at++) if (paces[at] == peer->pace_ms) return &lines[at];
  return &lines[0];
}

static void leave_line(Peer *peer) {
  if (!peer->waits) return;
  Line *line = line_of(peer);
  if (peer->earlier) peer->earlier->later = peer->later; else line->first = peer->later;
  if (peer->later) peer->later->earlier = peer->earlier; else line->last = peer->earlier;
  peer->waits = 0;
}

static void join_line(Peer *peer) {
  Line *line = line_of(peer);
  peer->due_us = now_us() + (uint64_t)peer->pace_ms * 1000;
  peer->earlier = line->last;
  peer->later = NULL;
  if (line->last) line->last->later = peer; else line->first = peer;
  line->last = peer;
  peer->waits = 1;
}

static void hang_up(Peer *peer) {
  leave_line(peer);
  peers[peer->fd] = NULL;
  close(peer->fd);
  free(peer->in);
  free(peer->copy);
  free(peer);
}

static void watch(Peer *peer, uint32_t what) {
  struct epoll_event event = {.events = what, .data.fd = peer->fd};
  epoll_ctl(poller, EPOLL_CTL_MOD, peer->fd, &event);
}

/* Begin to answer the next request that is there whole: 1 if there is one, -1 if it is none. */
static int next_request(Peer *peer) {
  char *end = peer->used ? memmem(peer->in, peer->used, "\r\n\r\n", 4) : NULL;
  if (!end) return 0;
  size_t head = end - peer->in + 4, length = 0;
  *end = 0;
  for (char *line = strstr(peer->in, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
    if (!strncasecmp(line + 2, "content-length:", 15)) length = strtoul(line + 17, NULL, 10);
    if (!strncasecmp(line + 2, "transfer-encoding:", 18)) return -1; /* nobody here sends one */
  }
  char *path = strchr(peer->in, ' ');
  char *path_end = path ? strpbrk(path + 1, " ?") : NULL;
  *end = '\r';
  if (!path_end) return -1;
  if (peer->used < head + length) return 0;
  char *body = peer->in + head;
  int streamed = memmem(body, length, "\"stream\":true", 13) || memmem(body, length, "\"stream\": true", 14);
  size_t size = path_end - path;
#define ENDS_WITH(word) (size >= sizeof word - 1 && !memcmp(path_end - sizeof word + 1, word, sizeof word - 1))
  if (ENDS_WITH("/stats")) peer->answer = count_up();
  else {
    requests++;
    if (ENDS_WITH("/chat/completions")) peer->answer = streamed ? &chat_stream : &chat_whole;
    else if (ENDS_WITH("/messages")) peer->answer = streamed ? &messages_stream : &messages_whole;
    else peer->answer = &other;
  }
  peer->piece = 0;
  peer->sent = 0;
  memmove(peer->in, body + length, peer->used - head - length);
  peer->used -= head + length;
  return 1;
}

/* Send the piece that is due: 1 if it is out, 0 if the reader is slow, -1 if it is gone. */
static int send_piece(Peer *peer) {
  const Piece *piece = &peer->answer->pieces[peer->piece];
  const char *text = piece->text;
  if (peer->pace_ms && piece->stamp) {
    if (!peer->sent) {
      char digits[24];
      snprintf(digits, sizeof digits, "%016llu", (unsigned long long)now_us());
      peer->copy = realloc(peer->copy, piece->size);
      if (!peer->copy) fail("memory");
      memcpy(peer->copy, piece->text, piece->size);
      memcpy(peer->copy + piece->stamp, digits, sizeof STAMP - 1);
    }
    text = peer->copy;
  }
  while (peer->sent < piece->size) {
    ssize_t done = send(peer->fd, text + peer->sent, piece->size - peer->sent, MSG_NOSIGNAL);
    if (done < 0 && errno == EAGAIN) { watch(peer, EPOLLIN | EPOLLOUT); return 0; }
    if (done < 0) { hang_up(peer); return -1; }
    peer->sent += done;
  }
  peer->piece++;
  peer->sent = 0;
  return 1;
}

/* Go on as far as it goes: answer, and take the next request. */
static void go_on(Peer *peer) {
  for (;;) {
    if (!peer->answer) {
      int found = next_request(peer);
      if (found < 0) { hang_up(peer); return; }
      if (!found) return;
    }
    if (send_piece(peer) <= 0) return;
    if (peer->piece == peer->answer->count) peer->answer = NULL;
    else if (peer->pace_ms) { join_line(peer); return; }
  }
}

static void receive(Peer *peer) {
  for (;;) {
    if (peer->room - peer->used < 4096) {
      peer->room = peer->room ? 2 * peer->room : 16384;
      if (peer->room > LONGEST_REQUEST) { hang_up(peer); return; }
      peer->in = realloc(peer->in, peer->room);
      if (!peer->in) fail("memory");
    }
    size_t space = peer->room - peer->used;
    ssize_t got = recv(peer->fd, peer->in + peer->used, space, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN)) { hang_up(peer); return; }
    if (got < 0) break;
    peer->used += got;
    if ((size_t)got < space) break;
  }
  if (!peer->answer) go_on(peer);
}

static void welcome(int at) {
  int fd, yes = 1;
  while ((fd = accept4(listeners[at], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    if (fd >= MOST_FDS) { close(fd); continue; }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    Peer *peer = peers[fd] = calloc(1, sizeof *peer);
    if (!peer) fail("memory");
    peer->fd = fd;
    peer->pace_ms = paces[at];
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
    connections++;
  }
}

static int listen_on(int port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), yes = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 4096)) fail("listen");
  struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
  epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
  return fd;
}

/* Milliseconds until somebody's time comes; -1 where nobody waits. */
static int patience(void) {
  uint64_t now = now_us(), next = UINT64_MAX;
  for (int at = 1; at < 3; at++)
    if (lines[at].first && lines[at].first->due_us < next) next = lines[at].first->due_us;
  if (next == UINT64_MAX) return -1;
  return next <= now ? 0 : (int)((next - now + 999) / 1000);
}

int main(int count, char **words) {
  if (count < 2) { fputs("usage: upstream PORT [PACE_MS [SLOW_MS]]\n", stderr); return 2; }
  int port = atoi(words[1]);
  paces[1] = count > 2 ? atoi(words[2]) : 20;
  paces[2] = count > 3 ? atoi(words[3]) : 1000;
  if (paces[1] < 1 || paces[2] < 1 || paces[1] == paces[2]) {
    fputs("PACE_MS and SLOW_MS must be positive, and differ\n", stderr);
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  build();
  poller = epoll_create1(EPOLL_CLOEXEC);
  for (int at = 0; at < 3; at++) listeners[at] = listen_on(port + at);
  struct epoll_event events[256];
  for (;;) {
    int ready = epoll_wait(poller, events, 256, patience());
    for (int each = 0; each < ready; each++) {
      int fd = events[each].data.fd, at = 0;
      while (at < 3 && listeners[at] != fd) at++;
      if (at < 3) { welcome(at); continue; }
      if (!peers[fd]) continue;
      if (events[each].events & EPOLLOUT) {
        watch(peers[fd], EPOLLIN);
        go_on(peers[fd]);
      }
      if (peers[fd] && events[each].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(peers[fd]);
    }
    uint64_t now = now_us();
    for (int at = 1; at < 3; at++) {
      Peer *peer;
      while ((peer = lines[at].first) && peer->due_us <= now) {
        leave_line(peer);
        go_on(peer);
      }
    }
  }
}
