// The list of a server's models, and what is known of each: what it says itself, else what the table of well-known models has.

import type { Model, ModelPrice } from '../../provider.ts'
import { createTokenPrice, findKnownModel, knownModelPrice } from './known-models.ts'

/** Whose models they are. */
export interface ModelHost {
  readonly name: string
  /** Of the base URL. */
  readonly host: string
  /** Whether calls cost nothing where it says no price: it runs on the operator's own machine, and hands nothing on that has one. */
  readonly free: boolean
}

type JsonRecord = Readonly<Record<string, unknown>>

/** Fields in which servers say how long a conversation may be. */
const CONTEXT_LENGTH_FIELDS = ['context_length', 'max_model_len', 'max_context_length', 'context_window'] as const
const MILLION = 1_000_000

/** What is no chat model by its name: such models are called in other ways than these. */
const NON_CHAT_NAMES = /whisper|tts|dall-e|gpt-image|moderation|transcribe|realtime|sora|babbage|davinci|rerank/i
const EMBEDDING_NAMES = /embed|\bbge-|\be5-|\bgte-|minilm/i

export interface ModelList {
  /** Those with an id. */
  readonly entries: readonly JsonRecord[]
  /** How many there are besides. */
  readonly left_out: number
}

/** What is readable of `{"object": "list", "data": […]}`, of the list alone, or of `data: null`, which is an empty one. Null where it is none of these, or nothing in it is readable. */
export function parseModelList(body: unknown): ModelList | null {
  const data = isRecord(body) ? body.data : body
  if (data === null && body !== null) return { entries: [], left_out: 0 }
  if (!Array.isArray(data)) return null
  const entries = data.filter((one): one is JsonRecord => isRecord(one) && typeof one.id === 'string' && one.id !== '')
  return entries.length > 0 || data.length === 0 ? { entries, left_out: data.length - entries.length } : null
}

/** Whether a server says what any of its models costs. One on this machine that does hands calls on to others: what has no price there is not free. */
export function hasPrices({ entries }: ModelList): boolean {
  return entries.some(({ pricing }) => parsePrice(pricing) !== null)
}

export function createHostedModel(entry: JsonRecord, { name: provider, host, free }: ModelHost): Model {
  const name = entry.id as string
  const knownFacts = findKnownModel(host, name)
  const { created, pricing } = entry
  const own = parsePrice(pricing) ?? (free ? createTokenPrice([0, 0]) : null)
  return {
    id: `${provider}/${name}`,
    name,
    title: typeof entry.name === 'string' ? entry.name : name,
    tasks: NON_CHAT_NAMES.test(name) ? [] : [EMBEDDING_NAMES.test(name) ? 'embedding' : 'chat'],
    ...(knownFacts ? {} : { tasks_guessed: true }),
    price: own ?? (knownFacts && knownModelPrice(knownFacts)),
    max_output_tokens: knownFacts?.max_output_tokens ?? null,
    context_length: readContextLength(entry) ?? knownFacts?.context_length ?? null,
    ...(knownFacts ? { modalities: knownFacts.modalities, capabilities: knownFacts.capabilities } : {}),
    ...(Number.isSafeInteger(created) ? { created: created as number } : {}),
  }
}

function readContextLength(entry: JsonRecord): number | null {
  const meta = isRecord(entry.meta) ? entry.meta.n_ctx_train : null
  const found = [...CONTEXT_LENGTH_FIELDS.map((field) => entry[field]), meta].find((one) => Number.isSafeInteger(one))
  return (found as number | undefined) ?? null
}

/** As some hosts say it: US dollars for a token, as texts. */
function parsePrice(pricing: unknown): ModelPrice | null {
  if (!isRecord(pricing)) return null
  const [input, output, request] = [pricing.prompt, pricing.completion, pricing.request ?? '0'].map(parseAmount)
  if (input === null || output === null || input === undefined || output === undefined) return null
  return { ...createTokenPrice([input * MILLION, output * MILLION]), per_request: request ?? 0 }
}

function parseAmount(value: unknown): number | null {
  const amount = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof amount === 'number' && Number.isFinite(amount) && amount >= 0 ? amount : null
}

function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
