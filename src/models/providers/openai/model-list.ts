// Converts a server's model list to models: facts from the server first, then from the table of well-known models.

import { isRecord } from '../../../shared/record.ts'
import type { Model, ModelPrice } from '../../provider.ts'
import { createTokenPrice, findKnownModel, knownModelPrice } from './known-models.ts'

/** The provider of the models. */
export interface ModelHost {
  readonly name: string
  /** The host of the base URL. */
  readonly host: string
  /** Whether a model without a price is free: the server runs on the operator's own machine, and none of its models has a price. */
  readonly free: boolean
}

type JsonRecord = Readonly<Record<string, unknown>>

/** Fields in which servers give the context length. */
const CONTEXT_LENGTH_FIELDS = ['context_length', 'max_model_len', 'max_context_length', 'context_window'] as const
const MILLION = 1_000_000

/** Names of models for tasks other than chat and embeddings. */
const NON_CHAT_NAMES = /whisper|tts|dall-e|gpt-image|moderation|transcribe|realtime|sora|babbage|davinci|rerank/i
const EMBEDDING_NAMES = /embed|\bbge-|\be5-|\bgte-|minilm/i

export interface ModelList {
  /** The entries with an id. */
  readonly entries: readonly JsonRecord[]
  /** The number of skipped entries. */
  readonly left_out: number
}

/** Reads `{"object": "list", "data": […]}`, the bare list, or `data: null`, which is an empty list. Null for other bodies, and where no entry is readable. */
export function parseModelList(body: unknown): ModelList | null {
  const data = isRecord(body) ? body.data : body
  if (data === null && body !== null) return { entries: [], left_out: 0 }
  if (!Array.isArray(data)) return null
  const entries = data.filter((one): one is JsonRecord => isRecord(one) && typeof one.id === 'string' && one.id !== '')
  return entries.length > 0 || data.length === 0 ? { entries, left_out: data.length - entries.length } : null
}

/** Whether the list has prices. A server on this machine with prices forwards calls to others: then its models without a price are not free. */
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

/** Some hosts give prices: US dollars for a token, as strings. */
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
