// Classifies the events of a stream: chunks, which pass unchanged, usage, the end, and events that clients must not
// see. It parses as little as possible, since a stream may have thousands of events a second.

import { findFailure } from '../../models/providers/openai/event-classification.ts'
import { guardChoiceCount } from '../../models/providers/openai/tool-call-reader.ts'
import { isLongJson } from '../../models/providers/shared/json-parsing.ts'
import { MalformedDataError } from '../../models/providers/shared/provider-data-validation.ts'
import { stringifySteps } from '../../shared/incremental-json.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { applyEdits } from '../json/text-ranges.ts'
import { diffAsEdits } from '../json/value-diff.ts'
import { isNonEmptyText, type JsonRecord, parseObjectBytesSteps } from '../json/values.ts'
import { inferDeltaFinish, normalizeChunk } from '../normalization/chunks.ts'
import { flattenContentSteps } from '../normalization/content-flattening.ts'
import { StreamedToolCalls } from '../normalization/tool-calls.ts'
import {
  type ChunkHead,
  DONE_EVENT,
  encodeEvent,
  hasChoices,
  hasFinishReason,
  hasToolCalls,
  hasUsage,
  isStandardChunk,
  measureChoices,
  measureChunkText,
  measureDeltas,
  parseChunk,
  parseChunkHead,
  type ReportedUsage,
} from './chunk-scan.ts'
import { UpstreamErrorBody } from './error-body.ts'
import { StreamedUsage } from './streamed-usage.ts'

const DONE = '[DONE]'

export interface ChunkInspectorParts {
  /** Whether the client requested a chunk with the usage. */
  readonly include_usage: boolean
  /** The number of requested choices; 1 by default. */
  readonly choices?: number
  /** Completes the usage if the provider reports none, or zeros. */
  complete(counted: ReportedUsage | null): ReportedUsage
}

export class ChunkInspector {
  readonly #parts: ChunkInspectorParts
  /** The seen choices, with the finish reason for choices whose server sends none. */
  readonly #finish_reasons = new Map<unknown, string>()
  readonly #finished = new Set<unknown>()
  readonly #tool_calls = new StreamedToolCalls()
  readonly #usage = new StreamedUsage()
  #head: ChunkHead | null = null
  #begun = false
  #done = false
  #length = 0
  #fault: MalformedDataError | null = null

  constructor(parts: ChunkInspectorParts) {
    this.#parts = parts
  }

  get isDone(): boolean {
    return this.#done
  }

  /**
   * Whether a chunk with a choice has come. Earlier events do not belong to the answer: comments, pings, and results of
   * Azure's filter for prompts.
   */
  get hasBegun(): boolean {
    return this.#begun
  }

  get text_length(): number {
    return this.#length
  }

  get reported_usage(): ReportedUsage | null {
    return this.#usage.reported_usage
  }

  get fault(): MalformedDataError | null {
    return this.#fault
  }

  /** Later events are not read. */
  recordFault(what: string): null {
    this.#fault ??= new MalformedDataError(what)
    return null
  }

  /**
   * Returns the replacement of an event with data; null if the event passes or the stream is invalid. It takes one
   * step, unless the event is long.
   */
  *inspect(data: string, name: string): Steps<string | null> {
    if (data === DONE) {
      const ending = this.#encodeEnding()
      return ending === DONE_EVENT ? null : ending
    }
    if (data[0] !== '{' || data.at(-1) !== '}') return this.recordFault('an event that is not a JSON object')
    try {
      return isLongJson(data) ? yield* this.#inspectLong(data, name) : this.#inspectShort(data, name)
    } catch (cause) {
      if (!(cause instanceof MalformedDataError)) throw cause
      this.#fault ??= cause
      return null
    }
  }

  /** @throws MalformedDataError */
  #inspectShort(data: string, name: string): string | null {
    if (this.#isPlainChunk(data, name)) {
      this.#length += measureChunkText(data)
      if (hasFinishReason(data)) this.#finished.add(0)
      return null
    }
    const chunk = parseChunk(data)
    if (chunk === null) return this.recordFault('an event that is not valid JSON')
    this.#refuseFailure(chunk, name)
    const mended = normalizeChunk(chunk)
    const isMended = mended !== chunk
    const shown = this.#readChunk(chunk, mended, (choices) =>
      isMended || choices.length > 1 ? measureChoices(choices) : measureChunkText(data),
    )
    return shown === null ? this.#editEvent(chunk, mended, data) : encodeShown(shown)
  }

  /** Does the same for a long event, which is encoded again if anything changes. @throws MalformedDataError */
  *#inspectLong(data: string, name: string): Steps<string | null> {
    const bytes = Buffer.from(data, 'latin1')
    yield
    const given = yield* parseObjectBytesSteps(bytes)
    this.#refuseFailure(given, name)
    const chunk = yield* flattenContentSteps(given, 'delta')
    const mended = normalizeChunk(chunk)
    const edited = this.#readChunk(chunk, mended, measureDeltas)
    if (edited === '') return edited
    const shown = edited ?? this.#tool_calls.normalize(mended)
    return shown === given ? null : `data: ${yield* stringifySteps(shown)}\n\n`
  }

  /** @throws MalformedDataError if a chunk has too many choices; UpstreamErrorBody if the chunk reports an error */
  #refuseFailure(chunk: JsonRecord, name: string): void {
    const failure = name === 'error' ? chunk : findFailure(chunk)
    if (failure) {
      this.#usage.add(chunk.usage)
      throw new UpstreamErrorBody(failure, chunk.usage)
    }
    if (Array.isArray(chunk.choices)) guardChoiceCount(chunk.choices.length)
  }

  /**
   * Ends the stream: `data` is the unfinished event. Returns what the client still needs.
   * @throws MalformedDataError if the stream is cut off
   */
  end(data: string): string {
    // Some servers do not end the last line.
    if (data === DONE && !this.#fault) {
      const ending = this.#encodeEnding()
      if (!this.#fault) return ending
    }
    if (this.#fault) throw this.#fault
    if (data !== '') throw new MalformedDataError('a stream that ends in the middle of an event')
    if (!this.#isFinished) throw new MalformedDataError('a stream that ends without a finish reason or [DONE]')
    return this.#encodeEnding()
  }

  /** Whether only the length of the event and its finish reason matter. */
  #isPlainChunk(data: string, name: string): boolean {
    if (!this.#begun || name === 'error' || (this.#parts.choices ?? 1) > 1) return false
    if (!hasChoices(data) || !isStandardChunk(data)) return false
    return !data.includes('"error"') && !hasUsage(data) && !hasToolCalls(data)
  }

  get #isFinished(): boolean {
    const { choices = 1 } = this.#parts
    return (
      this.#finished.size >= choices && [...this.#finish_reasons.keys()].every((index) => this.#finished.has(index))
    )
  }

  /**
   * Returns the replacement of a chunk: a chunk, or '' for nothing; null if the chunk itself is shown. `mended` is the
   * chunk with complete choices, `writtenOf` measures their text.
   * @throws MalformedDataError if the chunk has too many choices or too much usage data
   */
  #readChunk(
    chunk: JsonRecord,
    mended: JsonRecord,
    writtenOf: (choices: readonly unknown[]) => number,
  ): JsonRecord | '' | null {
    const { usage } = chunk
    const isCounted = this.#usage.add(usage)
    // A chunk with neither choices nor usage is of no use to clients.
    if (!Array.isArray(mended.choices) && !isCounted) return ''
    const choices = Array.isArray(mended.choices) ? mended.choices : []
    // Azure sends a chunk with empty head fields before the answer.
    if (!this.#begun) this.#head = parseChunkHead(chunk)
    this.#begun ||= choices.length > 0
    this.#length += writtenOf(choices)
    this.#readChoices(choices)
    if (!isCounted) return null
    if (choices.length > 0) {
      this.#usage.recordShown(usage)
      return null
    }
    return this.#parts.include_usage ? this.#completeUsageChunk(chunk, usage) : ''
  }

  /** Returns the replacement of a chunk that has only usage; null if the chunk itself is shown. */
  #completeUsageChunk(chunk: JsonRecord, given: JsonRecord): JsonRecord | null {
    const usage = this.#usage.fillIn(given, this.#parts.complete(this.reported_usage))
    this.#usage.recordShown(usage)
    return usage === given && Array.isArray(chunk.choices) ? null : this.#withHead({ ...chunk, choices: [], usage })
  }

  /** Returns the replacement of a chunk whose choices or tool calls are incomplete; null if the chunk passes. */
  #editEvent(chunk: JsonRecord, mended: JsonRecord, data: string): string | null {
    const changes = diffAsEdits(data, chunk, this.#tool_calls.normalize(mended))
    if (changes.length === 0) return null
    // The data lines of an event were joined: line ends occur only between values.
    return `data: ${applyEdits(Buffer.from(data, 'latin1'), changes).toString().replaceAll('\n', ' ')}\n\n`
  }

  #readChoices(choices: readonly unknown[]): void {
    for (const choice of choices) {
      const { index = 0, finish_reason, delta } = (choice ?? {}) as JsonRecord
      this.#finish_reasons.set(index, inferDeltaFinish(delta) ?? this.#finish_reasons.get(index) ?? 'stop')
      if (isNonEmptyText(finish_reason)) this.#finished.add(index)
    }
    guardChoiceCount(this.#finish_reasons.size)
  }

  /** The last events: missing finish reasons, the usage if the client waits for it, and the end. */
  #encodeEnding(): string {
    if (!this.#begun && !this.reported_usage) {
      this.recordFault('an end without an answer')
      return ''
    }
    this.#done = true
    return this.#encodeFinishReasons() + this.#encodeUsage() + DONE_EVENT
  }

  #encodeFinishReasons(): string {
    const { choices = 1 } = this.#parts
    if (choices === 1 && this.#finished.size > 0) return ''
    const open = [...this.#finish_reasons].filter(([index]) => !this.#finished.has(index))
    const ends = open.map(([index, finish_reason]) => ({ index, delta: {}, finish_reason }))
    return ends.map((choice) => this.#encodeChunk({ choices: [choice] })).join('')
  }

  #encodeUsage(): string {
    // If only usage came, the answer would be empty without it.
    if (!this.#parts.include_usage && this.#begun) return ''
    const usage = this.#usage.findMissing(this.#parts.complete(this.reported_usage))
    return usage ? this.#encodeChunk({ choices: [], usage }) : ''
  }

  #encodeChunk(chunk: JsonRecord): string {
    return encodeEvent(this.#withHead(chunk))
  }

  #withHead(chunk: JsonRecord): JsonRecord {
    return { ...this.#head, object: 'chat.completion.chunk', ...chunk }
  }
}

function encodeShown(shown: JsonRecord | ''): string {
  return shown === '' ? '' : encodeEvent(shown)
}
