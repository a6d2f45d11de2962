// Vectors of one owner that are stored without known secrets: names, texts, metadata and ids are redacted before they are written, and
// before they are looked up.
import type {
  VectorAccess,
  VectorEntry,
  VectorFilter,
  VectorIndex,
  VectorMatch,
  VectorQuery,
} from '../engine/node-api/services/vectors.ts'
import type { Redactor } from '../redaction/redactor.ts'
import type { Steps, TimeSliceScheduler } from '../shared/time-slices.ts'

export interface RedactedVectorsOptions {
  readonly vectors: VectorAccess
  /** Replaces the secrets of the owner. */
  readonly redactor: Redactor
  readonly slices: Pick<TimeSliceScheduler, 'run'>
  /** The key of the owner's time slices. */
  readonly user: string
}

export class RedactedVectors implements VectorAccess {
  readonly #vectors: VectorAccess
  readonly #redactor: Redactor
  readonly #slices: Pick<TimeSliceScheduler, 'run'>
  readonly #user: string

  constructor({ vectors, redactor, slices, user }: RedactedVectorsOptions) {
    this.#vectors = vectors
    this.#redactor = redactor
    this.#slices = slices
    this.#user = user
  }

  async info(name: string): Promise<VectorIndex | null> {
    return await this.#vectors.info(await this.#storedName(name))
  }

  list(): Promise<readonly VectorIndex[]> {
    return this.#vectors.list()
  }

  async put(name: string, entries: readonly VectorEntry[], model: string | null, signal: AbortSignal): Promise<void> {
    const redacted = await this.#run(mapEntriesSteps(entries, this.#redactor))
    const shown_model = model && this.#redactor.text(model)
    await this.#vectors.put(await this.#storedName(name), redacted, shown_model, signal)
  }

  async search(query: VectorQuery): Promise<readonly VectorMatch[]> {
    const { index, model, filter } = query
    return await this.#vectors.search({
      ...query,
      index: await this.#storedName(index),
      model: model && this.#redactor.text(model),
      filter: await this.#run(this.#redactor.valueSteps(filter)),
    })
  }

  async remove(name: string, which: readonly string[] | VectorFilter | null, signal: AbortSignal): Promise<number> {
    const index = await this.#storedName(name)
    if (which === null) return await this.#vectors.remove(index, null, signal)
    const redacted = await this.#run(this.#redactor.valueSteps(which))
    // Entries from before the redaction still have their ids.
    const both = Array.isArray(which) ? [...new Set([...(redacted as string[]), ...which])] : redacted
    return await this.#vectors.remove(index, both, signal)
  }

  /** The redacted name, or the name itself where only an index from before the redaction has it. */
  async #storedName(name: string): Promise<string> {
    const redacted = this.#redactor.text(name)
    if (redacted === name || (await this.#vectors.info(redacted)) !== null) return redacted
    return (await this.#vectors.info(name)) === null ? redacted : name
  }

  #run<Result>(steps: Steps<Result>): Promise<Result> {
    return this.#slices.run(this.#user, steps)
  }
}

function* mapEntriesSteps(entries: readonly VectorEntry[], redactor: Redactor): Steps<VectorEntry[]> {
  const redacted: VectorEntry[] = []
  for (const { id, vector, text, metadata } of entries)
    redacted.push({
      id: redactor.text(id),
      vector,
      text: text === null ? null : yield* redactor.textSteps(text),
      metadata: yield* redactor.valueSteps(metadata),
    })
  return redacted
}
