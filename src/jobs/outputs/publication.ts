// Collects the output values of a job in the order in which they came, and the assets that they refer to. Secrets are replaced, and media is stored and
// referred to.
import type { AssetReference, ManifestAsset } from '../../../generated/types.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import type { Plan } from '../../engine/compile/compiler.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import { estimateSize } from '../../engine/node-api/values/measure.ts'
import { MAX_RUN_OUTPUT_BYTES } from '../../engine/runtime/run/outputs.ts'
import { cachedJsonText, cacheJsonTextSteps, stringifyLongTextSteps } from '../../shared/incremental-json.ts'
import type { Steps } from '../../shared/time-slices.ts'
import type { AdditionalWrite } from '../commit/commit-range.ts'
import type { RedactingTextStream } from '../run/chunk-redactor.ts'

/** The position of an output value. */
export interface OutputValuePosition {
  readonly row: JobTable
  readonly node_id: string
  readonly output_name: string
  /** The index of the value within the output, from 0. */
  readonly ordinal: number
}

/** A value whose media is stored. */
export interface StoredOutputValue {
  readonly value: unknown
  readonly found: readonly { readonly path: readonly (string | number)[]; readonly asset: AssetReference }[]
  /** Writes the rows of the assets. */
  readonly extras: readonly AdditionalWrite[]
}

/** Redacts the texts of a stream, which may be parts of one text. Texts come out in the same order. */
export interface StreamedTextRedaction {
  /** The number of texts that are held back. */
  readonly waiting: number
  /** The number of characters held back that may still turn out to be a secret. */
  readonly undecided: number
  push(text: string): readonly string[]
  /** `push` in steps, where much is undecided. The caller pushes the next text after all steps. */
  pushSteps(text: string): Steps<readonly string[]>
  /** Returns the rest at the end of the stream. */
  end(): readonly string[]
  /** Returns the rest of a stream that was cut off. */
  cut(): readonly string[]
  /** `cut` in steps. */
  cutSteps(): Steps<readonly string[]>
}

/** Redacts values, and stores their media, before they are shown and stored. */
export interface OutputPublisher {
  /** Returns the value with known secrets replaced. */
  redact<T>(value: T): T
  /** Redacts a message, which may quote parts of texts. */
  redactMessage(text: string): string
  /** `redact` in steps. */
  redactSteps<T>(value: T): Steps<T>
  /** Opens a redaction for the texts of one stream. */
  texts(): StreamedTextRedaction
  /** Opens a redaction for the pieces of one text. */
  textStream(): RedactingTextStream
  /** Describes the parameters of a job for its provenance. */
  provenance(params: Readonly<Record<string, unknown>>): Record<string, unknown>
  /** `provenance` in steps. */
  provenanceSteps(params: Readonly<Record<string, unknown>>): Steps<Record<string, unknown>>
  /** Stores the media in a value. The same position and content give the same asset again. */
  store(value: unknown, position: OutputValuePosition): StoredOutputValue
  /** `store` in steps. */
  storeSteps(value: unknown, position: OutputValuePosition): Steps<StoredOutputValue>
}

/** A value that was prepared before it is added. */
export interface PreparedOutputValue {
  readonly stored: StoredOutputValue
  readonly shown: unknown
  /** The JSON text of `shown`, where that is one long string. */
  readonly text: string | null
  /** For a text of a stream, the texts that may be published with it. */
  readonly texts: readonly string[] | null
}

export interface PublishedOutputValue {
  readonly value: unknown
  /** Set where the whole value is an asset. */
  readonly asset: AssetReference | null
  readonly extras: readonly AdditionalWrite[]
  /** The JSON text of the value, where it is one long string and was prepared. */
  readonly text: string | null
}

/** Bytes of the JSON of one value, equal to the default limit of request bodies. Its event is one row, and writing a megabyte blocks for 8 to 12 ms. */
const LARGEST_JSON = 16_777_216

/** Checks that the JSON text of a large value fits into one row. @throws NodeError `too_large` */
function checkOutputSize(text: string | null | undefined): void {
  checkJsonBytes(Buffer.byteLength(text ?? ''), 'an output', LARGEST_JSON)
}

/** Checks that the JSON texts of the outputs fit into one result. @throws NodeError `too_large` */
export function checkOutputSizes(texts: readonly (string | undefined)[]): void {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0)
  checkJsonBytes(bytes, 'all outputs', MAX_RUN_OUTPUT_BYTES)
}

/** The engine counts characters, but JSON may need six for one. It also counts media, which are stored in files. */
function checkJsonBytes(bytes: number, of: string, most: number): void {
  if (bytes <= most) return
  const text = `The JSON of ${of} has ${bytes.toLocaleString('en')} bytes, more than ${most.toLocaleString('en')}.`
  throw new NodeError(`${text} Hand out less, parts of it in several runs, or files.`, 'too_large')
}

/** At most this many texts of a stream are held back as the possible beginning of a secret. When they turn out to be none, all are published at once. */
const MOST_WAITING = 5_000
/** More undecided characters are redacted in steps, since each character may take microseconds. */
const MUCH_UNDECIDED = 4_096

function createTooManyWaitingError(): NodeError {
  const most = MOST_WAITING.toLocaleString('en')
  const why = `More than ${most} texts of the stream are held back, because together they match the beginning of one of your secrets.`
  return new NodeError(`${why} Output larger pieces, or one text.`, 'too_large')
}

export class OutputPublication {
  readonly #row: JobTable
  readonly #publisher: OutputPublisher
  readonly #streams: ReadonlyMap<string, StreamedTextRedaction>
  readonly #lists: Map<string, unknown[]>
  /** By output, the rest of a stream that was cut in advance. */
  readonly #cuts = new Map<string, readonly string[]>()
  readonly assets: ManifestAsset[] = []
  /** The approximate number of characters of all values. */
  weight = 0

  constructor(row: JobTable, plan: Plan, publisher: OutputPublisher) {
    this.#row = row
    this.#publisher = publisher
    this.#streams = new Map(plan.outputs.flatMap(({ name, stream }) => (stream ? [[name, publisher.texts()]] : [])))
    this.#lists = new Map(plan.outputs.map(({ name }) => [name, []]))
  }

  get lists(): Record<string, unknown[]> {
    return Object.fromEntries(this.#lists)
  }

  /**
   * Adds the next value of an output, and returns the values that may be shown now. A secret may span several texts of a stream, so some texts are held back
   * until that is decided.
   */
  add(
    node_id: string,
    output_name: string,
    value: unknown,
    ready: PreparedOutputValue | null = null,
  ): PublishedOutputValue[] {
    const list = this.#lists.get(output_name)!
    const texts = this.#streams.get(output_name)
    const position = this.#positionOf(node_id, output_name)
    const { ordinal } = position
    const { value: stored, found, extras } = ready?.stored ?? this.#publisher.store(value, position)
    this.weight += estimateSize(stored)
    if (texts && typeof stored === 'string' && found.length === 0) {
      const shown = ready?.texts ?? texts.push(stored)
      if (texts.waiting > MOST_WAITING) throw createTooManyWaitingError()
      return this.#publishTexts(output_name, shown, ready)
    }
    const before = this.end(output_name)
    const shown = ready ? ready.shown : this.#publisher.redact(stored)
    const prefix = texts ? [ordinal] : []
    // The keys of a path are redacted like those of the value, so that the path leads through the shown value.
    for (const { path, asset } of found)
      this.assets.push({ output_name, path: [...prefix, ...this.#publisher.redact(path)], asset })
    list.push(shown)
    const whole = found.find(({ path }) => path.length === 0)
    return [...before, { value: shown, asset: whole?.asset ?? null, extras, text: ready?.text ?? null }]
  }

  /** Whether even a small value of an output must be prepared for `add`. */
  holdsMuch(output_name: string): boolean {
    return (this.#streams.get(output_name)?.undecided ?? 0) > MUCH_UNDECIDED
  }

  /** The number of characters that all streams hold back. */
  get undecided(): number {
    let undecided = 0
    for (const texts of this.#streams.values()) undecided += texts.undecided
    return undecided
  }

  /** Cuts all streams off, once no more values are added. `end` returns their rests. */
  *cutSteps(): Steps<void> {
    for (const [name, texts] of this.#streams) {
      if (texts.undecided > 0) this.#cuts.set(name, yield* texts.cutSteps())
      yield
    }
  }

  /** Prepares the next value of an output for `add`. Until then no other value of the output is added. @throws NodeError where it is too large */
  *readySteps(node_id: string, output_name: string, value: unknown): Steps<PreparedOutputValue> {
    const stored = yield* this.#publisher.storeSteps(value, this.#positionOf(node_id, output_name))
    const streamed = typeof stored.value === 'string' ? this.#streams.get(output_name) : undefined
    const shown = streamed ? stored.value : yield* this.#publisher.redactSteps(stored.value)
    yield* cacheJsonTextSteps(shown)
    const text = yield* stringifyLongTextSteps(shown)
    checkOutputSize(text ?? cachedJsonText(shown))
    const texts = streamed ? yield* streamed.pushSteps(String(shown)) : null
    return { stored, shown, text, texts }
  }

  /** The position of the next value of an output. */
  #positionOf(node_id: string, output_name: string): OutputValuePosition {
    const ordinal = this.#lists.get(output_name)!.length + (this.#streams.get(output_name)?.waiting ?? 0)
    return { row: this.#row, node_id, output_name, ordinal }
  }

  /** Returns the texts held back of an output, where no related value follows. `whole`: the stream ended, and was not cut off. */
  end(output_name: string, whole = true): PublishedOutputValue[] {
    const texts = this.#streams.get(output_name)
    const cut = this.#cuts.get(output_name)
    this.#cuts.delete(output_name)
    return this.#publishTexts(output_name, cut ?? (whole ? texts?.end() : texts?.cut()) ?? [])
  }

  /** `ready`: the last text, whose JSON text may be used unchanged. */
  #publishTexts(
    output_name: string,
    texts: readonly string[],
    ready: PreparedOutputValue | null = null,
  ): PublishedOutputValue[] {
    const list = this.#lists.get(output_name)!
    list.push(...texts)
    const textOf = (value: string) => (value === ready?.shown ? ready.text : null)
    return texts.map((value) => ({ value, asset: null, extras: [], text: textOf(value) }))
  }
}
