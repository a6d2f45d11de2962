// The list of a server's models, and what is known of each: what it says itself, else what the table of well-known models has.
import { knownModel, knownPrice, priceOf } from './known-models.ts'
import type { Model, ModelPrice } from './provider.ts'

/** Whose models they are. */
export interface Owner {
  readonly name: string
  /** Of the base URL. */
  readonly host: string
  /** Whether calls cost nothing where it says no price: it runs on the operator's own machine, and hands nothing on that has one. */
  readonly free: boolean
}

type Json = Readonly<Record<string, unknown>>

/** Fields in which servers say how long a conversation may be. */
const LENGTHS = ['context_length', 'max_model_len', 'max_context_length', 'context_window'] as const
const MILLION = 1_000_000

/** What is no chat model by its name: such models are called in other ways than these. */
const OTHERS = /whisper|tts|dall-e|gpt-image|moderation|transcribe|realtime|sora|babbage|davinci|rerank/i
const EMBEDDING = /embed|\bbge-|\be5-|\bgte-|minilm/i

export interface ModelList {
  /** Those with an id. */
  readonly entries: readonly Json[]
  /** How many there are besides. */
  readonly left_out: number
}

/** What is readable of `{"object": "list", "data": […]}`, of the list alone, or of `data: null`, which is an empty one. Null where it is none of these, or nothing in it is readable. */
export function listedModels(body: unknown): ModelList | null {
  const data = isRecord(body) ? body.data : body
  if (data === null && body !== null) return { entries: [], left_out: 0 }
  if (!Array.isArray(data)) return null
  const entries = data.filter((one): one is Json => isRecord(one) && typeof one.id === 'string' && one.id !== '')
  return entries.length > 0 || data.length === 0 ? { entries, left_out: data.length - entries.length } : null
}

/** Whether a server says what any of its models costs. One on this machine that does hands calls on to others: what has no price there is not free. */
export function saysPrices({ entries }: ModelList): boolean {
  return entries.some(({ pricing }) => pricedBy(pricing) !== null)
}

export function modelOf(entry: Json, { name: provider, host, free }: Owner): Model {
  const name = entry.id as string
  const known = knownModel(host, name)
  const { created, pricing } = entry
  const own = pricedBy(pricing) ?? (free ? priceOf([0, 0]) : null)
  return {
    id: `${provider}/${name}`,
    name,
    title: typeof entry.name === 'string' ? entry.name : name,
    tasks: OTHERS.test(name) ? [] : [EMBEDDING.test(name) ? 'embedding' : 'chat'],
    ...(known ? {} : { tasks_guessed: true }),
    price: own ?? (known && knownPrice(known)),
    max_output_tokens: known?.max_output_tokens ?? null,
    context_length: lengthOf(entry) ?? known?.context_length ?? null,
    ...(known ? { modalities: known.modalities, capabilities: known.capabilities } : {}),
    ...(Number.isSafeInteger(created) ? { created: created as number } : {}),
  }
}

function lengthOf(entry: Json): number | null {
  const meta = isRecord(entry.meta) ? entry.meta.n_ctx_train : null
  const found = [...LENGTHS.map((field) => entry[field]), meta].find((one) => Number.isSafeInteger(one))
  return (found as number | undefined) ?? null
}

/** As some hosts say it: US dollars for a token, as texts. */
function pricedBy(pricing: unknown): ModelPrice | null {
  if (!isRecord(pricing)) return null
  const [input, output, request] = [pricing.prompt, pricing.completion, pricing.request ?? '0'].map(amountOf)
  if (input === null || output === null || input === undefined || output === undefined) return null
  return { ...priceOf([input * MILLION, output * MILLION]), per_request: request ?? 0 }
}

function amountOf(value: unknown): number | null {
  const amount = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof amount === 'number' && Number.isFinite(amount) && amount >= 0 ? amount : null
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
