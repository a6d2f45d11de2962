// A provider with one model, `agent/brain`, which does what a test scripts: it talks, calls tools, counts and waits.
import type { CompletionPart, CompletionRequest, ModelPrice, Provider } from '../../src/models/provider.ts'

/** One turn of the model. */
export interface Move {
  readonly say?: readonly string[]
  /** Arguments as values, or as text that may be invalid JSON. */
  readonly calls?: readonly { readonly name: string; readonly args: unknown; readonly id?: string }[]
  readonly refuse?: string
  readonly tokens?: readonly [input: number, output: number]
  /** The error after all pieces, instead of the end. */
  readonly fails?: Error
  /** The promise that the model awaits before the piece of that number. */
  readonly waits?: { readonly before: number; for(signal: AbortSignal): Promise<unknown> }
}

export interface AgentProvider extends Provider {
  readonly requests: CompletionRequest[]
}

/** `move` gets the request and the number of earlier requests. */
export function agentProvider(
  move: (request: CompletionRequest, turn: number) => Move,
  price: ModelPrice | null = {
    currency: 'USD',
    per_request: 1,
    per_million_input_tokens: 0,
    per_million_output_tokens: 0,
  },
  max_output_tokens: number | null = null,
): AgentProvider {
  const requests: CompletionRequest[] = []
  return {
    name: 'agent',
    title: 'Agent',
    kind: 'openai_compatible',
    credential: null,
    requests,
    models: async () => [
      { id: 'agent/brain', name: 'brain', title: 'Brain', tasks: ['chat'], price, max_output_tokens },
    ],
    complete(request, { signal }) {
      requests.push(structuredClone(request))
      return made(move(request, requests.length - 1), signal)
    },
    countTokens: (text) => Math.ceil(text.length / 4),
  }
}

async function* made(move: Move, signal: AbortSignal): AsyncGenerator<CompletionPart, void, void> {
  const { say = [], calls = [], refuse, tokens = [10, 5], waits, fails } = move
  const at = async (place: number) => {
    if (waits?.before === place) await waits.for(signal)
    signal.throwIfAborted()
  }
  for (const [place, text] of say.entries()) {
    await at(place)
    yield { type: 'text', text }
  }
  await at(say.length)
  if (refuse) yield { type: 'refusal', text: refuse }
  for (const [index, { name, args, id }] of calls.entries()) {
    const text = typeof args === 'string' ? args : JSON.stringify(args)
    yield { type: 'tool_call', index, name, arguments: text.slice(0, 3), ...(id === undefined ? {} : { id }) }
    yield { type: 'tool_call', index, arguments: text.slice(3) }
  }
  if (fails) throw fails
  const usage = { input_tokens: tokens[0], output_tokens: tokens[1], cost: null }
  yield { type: 'end', usage, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }
}

/** The last tool results that the model received. */
export function toolTexts({ messages }: CompletionRequest): string[] {
  return messages.flatMap((message) => (message.role === 'tool' ? [String(message.content)] : []))
}
