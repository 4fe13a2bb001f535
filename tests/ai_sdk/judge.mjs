// Reads answers with the strict parsers of the AI SDK.
//
// One job a line comes in on stdin, one verdict a line goes out on stdout, both JSON.  A job either
// brings the answers along (`answers`: base64, one for each call, given out in pieces of `cut`
// bytes), or names a server on loopback (`url`).  Its `turns` are asked one after the other in one
// conversation; what the SDK made of an answer is replayed with the next turn.
import { createInterface } from 'node:readline';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';

globalThis.AI_SDK_LOG_WARNINGS = false;

const shell = tool({
  description: 'Runs a command.',
  inputSchema: jsonSchema({ type: 'object', properties: { cmd: { type: 'string' } } }),
});

function inPieces(bytes, size) {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, (at += size || bytes.length)));
    },
  });
}

// Records what the SDK sends; answers from the job, or lets the request go to loopback, with the
// members of `extra` added to its body: what the SDK has no option for.
function fetcher(job, sent) {
  return async (url, init) => {
    const body = { ...JSON.parse(init.body), ...job.extra };
    sent.push(body);
    if (job.url) {
      if (new URL(url).hostname !== '127.0.0.1') throw new Error(`not on loopback: ${url}`);
      return fetch(url, { ...init, body: JSON.stringify(body) });
    }
    const bytes = Buffer.from(job.answers[sent.length - 1], 'base64');
    const type = job.stream ? 'text/event-stream' : 'application/json';
    return new Response(inPieces(bytes, job.cut), { headers: { 'content-type': type } });
  };
}

function modelOf(job, fetch) {
  const options = { apiKey: 'sdk-test', baseURL: `${job.url ?? 'http://127.0.0.1:1'}/v1`, fetch };
  if (job.wire === 'messages') {
    const provider = createAnthropic(options);
    return { model: provider('m'), web_search: provider.tools.webSearch_20250305({ maxUses: 5 }) };
  }
  const provider = createOpenAI(options);
  if (job.wire === 'chat') return { model: provider.chat('m') };
  return { model: provider.responses('m'), web_search: provider.tools.webSearch({}) };
}

// What a part of the content tells; the same whether it was streamed or not.
function told(part) {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'reasoning':
      return { type: 'reasoning', text: part.text };
    case 'source':
      return { type: 'source', sourceType: part.sourceType, url: part.url, title: part.title };
    case 'tool-call':
      return {
        type: part.type, name: part.toolName, id: part.toolCallId, input: part.input,
        hosted: part.providerExecuted ?? false, invalid: part.invalid ?? false,
      };
    case 'tool-result':
      return { type: part.type, name: part.toolName, id: part.toolCallId, output: part.output };
    case 'tool-error':
      return { type: part.type, name: part.toolName, id: part.toolCallId, error: String(part.error) };
    default:
      return { type: part.type };
  }
}

async function ask(job, messages, { model, web_search }) {
  const tools = { shell, ...(web_search ? { web_search } : {}) };
  const call = { model, messages, tools, maxRetries: 0, stopWhen: stepCountIs(1) };
  if (job.options) call.providerOptions = job.options;
  const errors = [];
  const parts = [];
  let result;
  if (job.stream) {
    result = streamText({ ...call, onError: ({ error }) => errors.push(String(error)) });
    for await (const part of result.fullStream) {
      parts.push(part.type);
      if (part.type === 'error') errors.push(`error part: ${part.error}`);
    }
  } else {
    result = await generateText(call);
  }
  return {
    content: (await result.content).map(told),
    sources: (await result.sources).map(told),
    text: await result.text,
    finish: await result.finishReason,
    usage: await result.usage,
    metadata: await result.providerMetadata,
    replay: (await result.response).messages,
    parts,
    errors,
  };
}

async function judge(job) {
  const sent = [];
  const model = modelOf(job, fetcher(job, sent));
  const messages = [];
  const turns = [];
  for (const text of job.turns ?? ['?']) {
    messages.push({ role: 'user', content: text });
    const turn = await ask(job, messages, model);
    messages.push(...turn.replay);
    turns.push(turn);
  }
  return { turns, sent };
}

for await (const line of createInterface({ input: process.stdin })) {
  let verdict;
  try {
    verdict = await judge(JSON.parse(line));
  } catch (error) {
    const cause = error.cause ? ` (${error.cause})` : '';
    verdict = { failed: `${error.name}: ${error.message}${cause}`, sent: [] };
  }
  process.stdout.write(JSON.stringify(verdict) + '\n');
}
