// Validates the data of providers: values of a wrong shape or an implausible size go no further.

import { isObject } from '../../../shared/record.ts'
import type {
  Capability,
  CompletionPart,
  FinishReason,
  Modality,
  Model,
  ModelPrice,
  ToolCallPart,
} from '../../provider.ts'

/** The most that a call, or a million tokens, may cost. Sums of such amounts stay finite. */
export const MAX_COST = 1e12
/** The most tokens of one call. */
export const MAX_TOKENS = 1e12

/** The most calls of tools in one answer. */
export const MAX_TOOL_CALLS = 1_000

/** The most choices of one answer: as many as can be asked for (`n`). */
export const MAX_CHOICES = 128

/** The most models of one list: each is checked here, and again in each search. */
export const MAX_MODELS = 10_000

/** Numbers in all vectors of one call: 2,048 vectors of 4,096 numbers. */
const MAX_EMBEDDING_NUMBERS = 8_388_608

/** Numbers in one vector, which is read in one go: many times what any model gives. */
const MAX_VECTOR_LENGTH = 262_144

const FINISH_REASONS: readonly FinishReason[] = ['stop', 'length', 'tool_calls', 'content_filter']
const MODALITIES: readonly Modality[] = ['text', 'image', 'audio', 'video', 'file']
const CAPABILITIES: readonly Capability[] = [
  'streaming',
  'tools',
  'parallel_tools',
  'structured_output',
  'json_mode',
  'seed',
  'logprobs',
  'reasoning',
]

const CURRENCY_CODE = /^[A-Z]{3}$/

/** Invalid data from a provider. The message is only for the log. */
export class MalformedDataError extends Error {
  constructor(what: string) {
    super(`the provider gave ${what}`)
    this.name = 'Malformed'
  }
}

/** Validates a list of models. Entries without a name are skipped, and an invalid price becomes null. @throws MalformedDataError */
export function validateModels(provider: string, listed: unknown): Model[] {
  if (!Array.isArray(listed)) throw new MalformedDataError('no list of models')
  if (listed.length > MAX_MODELS) throw new MalformedDataError(`a list of more than ${MAX_MODELS} models`)
  return listed.flatMap((entry: unknown): Model[] => {
    if (!isObject(entry)) return []
    const { name, title, tasks, tasks_guessed, price, max_output_tokens, context_length } = entry
    const { created, size_on_disk, unavailable } = entry
    if (typeof name !== 'string' || name === '') return []
    return [
      {
        id: `${provider}/${name}`,
        name,
        title: typeof title === 'string' && title !== '' ? title : name,
        tasks: Array.isArray(tasks) ? tasks.filter((task) => typeof task === 'string') : [],
        ...(tasks_guessed === true ? { tasks_guessed } : {}),
        price: isPrice(price) ? price : null,
        max_output_tokens: isTokenCount(max_output_tokens) && max_output_tokens > 0 ? max_output_tokens : null,
        context_length: isTokenCount(context_length) && context_length > 0 ? context_length : null,
        modalities: filterKnown(MODALITIES, entry.modalities),
        capabilities: filterKnown(CAPABILITIES, entry.capabilities),
        ...(isTokenCount(created) ? { created } : {}),
        ...(isTokenCount(size_on_disk) ? { size_on_disk } : {}),
        ...(typeof unavailable === 'string' ? { unavailable } : {}),
      },
    ]
  })
}

/** Validates one part of an answer. Invalid counts in the end part become zero, and an invalid cost null. @throws MalformedDataError */
export function validatePart(part: unknown): CompletionPart {
  if (!isObject(part)) throw new MalformedDataError('an invalid answer part')
  const { type, text, usage, finish_reason } = part
  if (isTextType(type)) {
    if (typeof text !== 'string') throw new MalformedDataError('a text part without text')
    return { type, text }
  }
  if (type === 'tool_call') return validateToolCall(part)
  if (type !== 'end') throw new MalformedDataError('a part of no known type')
  const used = (isObject(usage) ? usage : {}) as { [key: string]: unknown }
  return {
    type,
    usage: {
      input_tokens: isTokenCount(used.input_tokens) ? used.input_tokens : 0,
      output_tokens: isTokenCount(used.output_tokens) ? used.output_tokens : 0,
      cost: isAmount(used.cost) ? used.cost : null,
    },
    finish_reason: FINISH_REASONS.includes(finish_reason as FinishReason) ? (finish_reason as FinishReason) : 'stop',
  }
}

function validateToolCall({ index, custom, id, name, arguments: text }: Record<string, unknown>): ToolCallPart {
  if (!isTokenCount(index) || index >= MAX_TOOL_CALLS || typeof text !== 'string')
    throw new MalformedDataError('an invalid tool call')
  return {
    type: 'tool_call',
    index,
    ...(custom === true ? { custom } : {}),
    ...(typeof id === 'string' && id !== '' ? { id } : {}),
    ...(typeof name === 'string' && name !== '' ? { name } : {}),
    arguments: text,
  }
}

function isTextType(type: unknown): type is 'text' | 'thinking' | 'refusal' {
  return type === 'text' || type === 'thinking' || type === 'refusal'
}

function filterKnown<T extends string>(known: readonly T[], given: unknown): T[] {
  return Array.isArray(given) ? known.filter((one) => given.includes(one)) : []
}

export function isTokenCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKENS
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MAX_COST
}

function isPrice(price: unknown): price is ModelPrice {
  if (!isObject(price)) return false
  const { currency, per_request, per_million_input_tokens, per_million_output_tokens } = price
  const amounts = [per_request, per_million_input_tokens, per_million_output_tokens]
  return typeof currency === 'string' && CURRENCY_CODE.test(currency) && amounts.every(isAmount)
}

/** @throws MalformedDataError where all vectors of one call together have too many numbers */
export function guardEmbeddingNumbers(count: number): void {
  if (count > MAX_EMBEDDING_NUMBERS)
    throw new MalformedDataError(`vectors of more than ${MAX_EMBEDDING_NUMBERS} numbers`)
}

/** @throws MalformedDataError where one vector has too many numbers */
export function guardVectorLength(length: number): void {
  if (length > MAX_VECTOR_LENGTH) throw new MalformedDataError(`a vector of more than ${MAX_VECTOR_LENGTH} numbers`)
}

/** @throws MalformedDataError where there are not as many vectors as inputs */
export function guardVectorCount(given: number, inputs: number): void {
  if (given !== inputs) throw new MalformedDataError('another number of vectors')
}

/** Gives one vector for each of `count` inputs, all of one length. @throws MalformedDataError */
export function validateVectors(given: unknown, count: number): readonly (readonly number[])[] {
  const vectors: unknown[] = isObject(given) && Array.isArray(given.vectors) ? given.vectors : []
  guardVectorCount(vectors.length, count)
  const length = Array.isArray(vectors[0]) ? vectors[0].length : 0
  const isVector = (one: unknown) => Array.isArray(one) && one.length === length && one.every(Number.isFinite)
  if (length === 0 || !vectors.every(isVector)) throw new MalformedDataError('a vector that is none')
  return vectors as number[][]
}
