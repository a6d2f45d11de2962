// The large values of one job, made ready to be shown in time slices of its owner: secrets are replaced, media stored with most of their rows, and
// their JSON texts known before they are told. What is small is made ready when it is told.
import type { ResultManifest } from '../../generated/types.ts'
import { cuts } from '../cuts.ts'
import { sizeOf } from '../engine/measure.ts'
import type { Plan } from '../engine/plan.ts'
import { knownText, learnText, textAround } from '../json-steps.ts'
import type { Steps, TimeSlices } from '../time-slices.ts'
import { outputValues } from './manifest.ts'
import { largeDescribedSteps } from './provenance.ts'
import { checkTexts, type Publication, type Publisher, type ReadyValue } from './publication.ts'
import type { Extra } from './writer.ts'

/** Characters, about: a result with larger parameters and outputs is made ready before the job ends. */
const LARGE_RESULT = 100_000

/** Whether a result with these parameters and outputs is to be made ready before the job ends. */
export function isLargeResult({ weight }: Publication, params: LargeParts['inputs']): boolean {
  return weight + sizeOf(params) >= LARGE_RESULT
}

/** Characters of one part of a result. To write and commit a megabyte takes 8 to 12 ms. */
const PART = 1_000_000

/** The large parts of a result, whose JSON texts are known. */
export interface LargeParts {
  readonly inputs: Readonly<Record<string, unknown>>
  readonly outputs: Readonly<Record<string, unknown>>
}

/** A result before its job ends. */
export interface ReadyResult {
  readonly outputs: LargeParts['outputs']
  /** Its manifest as JSON text, and in how many parts that is stored already; null: it goes into the row of the job. */
  readonly text: string
  readonly parts: number | null
}

export interface LargeValuesHost {
  readonly plan: Plan
  readonly publication: Publication
  readonly publisher: Publisher
  readonly slices: TimeSlices
  readonly owner: string
  /** Writes rows of a value before it is told, and gives those that are to be written with it. */
  writeEarly(extras: readonly Extra[]): Promise<readonly Extra[]>
  /** The manifest of a result, as of now. */
  manifest(large: LargeParts): ResultManifest
  /** Stores a text in parts. */
  writeResult(parts: readonly string[]): Promise<void>
}

export class LargeValues {
  readonly #host: LargeValuesHost
  /** By output: a value that is ready to be published, or what went wrong with it. */
  #values: Map<string, { ready: ReadyValue } | { error: unknown }> | null = null
  #result: ReadyResult | null = null

  constructor(host: LargeValuesHost) {
    this.#host = host
  }

  /** Makes the next value of an output ready. It does not reject: `take` throws then. */
  async prepare(node_id: string, output_name: string, value: unknown): Promise<void> {
    const { publication, slices, owner } = this.#host
    this.#values ??= new Map()
    try {
      const ready = await slices.run(owner, publication.readySteps(node_id, output_name, value))
      const extras = await this.#host.writeEarly(ready.stored.extras)
      this.#values.set(output_name, { ready: { ...ready, stored: { ...ready.stored, extras } } })
    } catch (error) {
      this.#values.set(output_name, { error })
    }
  }

  /** What was prepared of an output, or null. @throws what preparing it threw */
  take(output_name: string): ReadyValue | null {
    const found = this.#values?.get(output_name)
    if (!found) return null
    this.#values!.delete(output_name)
    if ('error' in found) throw found.error
    return found.ready
  }

  /** Makes the result ready. No value is published from then on. @throws NodeError where the outputs are larger than they may be together */
  async prepareResult(params: LargeParts['inputs']): Promise<void> {
    const { plan, publication, slices, owner } = this.#host
    const large = await slices.run(owner, this.#resultSteps(params, outputValues(plan, publication.lists)))
    const text = textAround(this.#host.manifest(large))
    const parts = text.length <= PART ? null : cuts(text, PART)
    if (parts) await this.#host.writeResult(parts)
    this.#result = { outputs: large.outputs, text, parts: parts?.length ?? null }
  }

  *#resultSteps(params: LargeParts['inputs'], outputs: LargeParts['outputs']): Steps<LargeParts> {
    const inputs = yield* largeDescribedSteps(yield* this.#host.publisher.provenanceSteps(params))
    yield* learnText(inputs)
    const values = Object.values(outputs)
    for (const value of values) yield* learnText(value)
    // Of a text by itself nothing is known.
    const holdsTexts = values.some((value) => typeof value === 'string')
    if (holdsTexts) yield* learnText(outputs)
    checkTexts((holdsTexts ? [outputs] : values).map(knownText))
    return { inputs, outputs }
  }

  /** The result where it was made ready. */
  get result(): ReadyResult | null {
    return this.#result
  }
}
