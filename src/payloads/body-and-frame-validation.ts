// Validates the bytes of a large body or frame in a worker thread. Only the verdict leaves the thread.
import { isUtf8 } from 'node:buffer'
import { bodyValidators, commandValidators, type Validate } from '../../generated/validators.js'
import { MAX_PROBLEMS, type Problem } from '../errors.ts'
import { isDeeperThan, MAX_JSON_DEPTH } from '../shared/json.ts'
import { isRecord } from '../shared/record.ts'
import { findIllFormedTexts, toValidationProblems } from '../shared/validation-problems.ts'
import { MAX_OBJECT_KEYS } from '../shared/value-limits.ts'
import { decodeFrame, FrameDecodeError, findInexactValues, mayHoldIllFormedText } from './frame-decoder.ts'
import { estimateJsonMemory, estimatePayloadMemory } from './memory-estimate.ts'
import { findWideIntegersInUtf8 } from './wide-integers.ts'

export type ValidationRequest =
  /** `passed_on`: the service passes the body on, and does not read the numbers in it. */
  | { readonly kind: 'body'; readonly operation: string; readonly passed_on: boolean; readonly bytes: Uint8Array }
  | { readonly kind: 'frame'; readonly channel: string; readonly binary: boolean; readonly bytes: Uint8Array }

export type BodyVerdict =
  | { readonly kind: 'not_utf8' | 'not_json' | 'too_deep' }
  /** `memory_bytes`: roughly the memory that the value takes. */
  | { readonly kind: 'valid'; readonly memory_bytes: number }
  /** The object at `path` has too many keys. */
  | { readonly kind: 'too_many_keys'; readonly path: string }
  /** The body has texts with half a character in them, or integers beyond 2^53. */
  | { readonly kind: 'ill_formed' | 'wide'; readonly problems: readonly Problem[] }
  /** The body does not match the schema. */
  | { readonly kind: 'invalid'; readonly problems: readonly Problem[]; readonly memory_bytes: number }

export type FrameVerdict =
  | { readonly kind: 'unreadable'; readonly message: string }
  /** `head` is the message without its large parts; it is enough to answer a message that is refused. */
  | {
      readonly kind: 'message'
      readonly head: unknown
      /** The problems by the schema of the command; empty if there is no such command. */
      readonly problems: readonly Problem[]
      /** The values that would be stored as different ones. */
      readonly inexact: readonly Problem[]
      /** Roughly the memory that the value takes. */
      readonly memory_bytes: number
    }

export function validateBody({ operation, passed_on, bytes }: ValidationRequest & { kind: 'body' }): BodyVerdict {
  if (!isUtf8(bytes)) return { kind: 'not_utf8' }
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const { memory_bytes, crowded_at } = estimateJsonMemory(buffer)
  if (crowded_at !== null) return { kind: 'too_many_keys', path: `/body${crowded_at}` }
  let body: unknown
  try {
    body = parseUtf8Json(buffer)
  } catch {
    return { kind: 'not_json' }
  }
  if (isDeeperThan(body, MAX_JSON_DEPTH)) return { kind: 'too_deep' }
  const problems = mayHoldIllFormedText(buffer, false) ? limitProblems(findIllFormedTexts(body, '/body')) : []
  if (problems.length > 0) return { kind: 'ill_formed', problems }
  const wide = passed_on ? [] : limitProblems(findWideIntegersInUtf8(bytes, '/body'))
  if (wide.length > 0) return { kind: 'wide', problems: wide }
  const validate = bodyValidators[operation as keyof typeof bodyValidators] as Validate
  if (validate({ body })) return { kind: 'valid', memory_bytes }
  return { kind: 'invalid', problems: toValidationProblems(validate.errors ?? []), memory_bytes }
}

const BYTE_ORDER_MARK = '\ufeff'

/** Decodes UTF-8 without a byte order mark. */
export function decodeUtf8Text(bytes: Buffer): string {
  const text = bytes.toString()
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : text
}

/** Parses JSON text in UTF-8. @throws SyntaxError */
export function parseUtf8Json(bytes: Buffer): unknown {
  return JSON.parse(decodeUtf8Text(bytes))
}

function limitProblems(problems: readonly Problem[]): Problem[] {
  return problems.slice(0, MAX_PROBLEMS + 1)
}

export function validateFrame({ channel, binary, bytes }: ValidationRequest & { kind: 'frame' }): FrameVerdict {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const { memory_bytes, crowded_at } = estimatePayloadMemory(data, binary)
  if (crowded_at !== null) return { kind: 'unreadable', message: tooManyKeysMessage(crowded_at) }
  let message: unknown
  try {
    message = decodeFrame(data, binary)
  } catch (error) {
    if (error instanceof FrameDecodeError) return { kind: 'unreadable', message: error.message }
    throw error
  }
  const head = extractHead(message)
  const inexact = limitProblems(findInexactValues(message, data, binary))
  return { kind: 'message', head, problems: findCommandProblems(channel, message), inexact, memory_bytes }
}

function tooManyKeysMessage(path: string): string {
  return `the object at "${path}" has more than ${MAX_OBJECT_KEYS.toLocaleString('en')} keys`
}

function findCommandProblems(channel: string, message: unknown): Problem[] {
  if (!isRecord(message) || typeof message.command !== 'string') return []
  const commands = commandValidators[channel as keyof typeof commandValidators] as Readonly<Record<string, Validate>>
  if (!Object.hasOwn(commands, message.command)) return []
  const validate = commands[message.command]!
  return validate(message) ? [] : toValidationProblems(validate.errors ?? [])
}

const ENVELOPE_KEYS = ['command', 'type', 'request_id']
const ID_KEYS = ['job_id', 'thread_id']
/** Longer than any name in an answer. */
const LONGEST = 1_024

function extractHead(message: unknown): unknown {
  if (!isRecord(message)) return null
  return {
    ...pickMembers(message, ENVELOPE_KEYS),
    ...(isRecord(message.data) ? { data: pickMembers(message.data, ID_KEYS) } : {}),
  }
}

function pickMembers(of: Record<string, unknown>, keys: readonly string[]): Record<string, unknown> {
  const found = keys.filter((key) => Object.hasOwn(of, key)).map((key) => [key, shortenValue(of[key])] as const)
  return Object.fromEntries(found)
}

/** Returns a value of the same type: the value itself if it is short. */
function shortenValue(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, LONGEST)
  return typeof value === 'object' && value !== null ? {} : value
}
