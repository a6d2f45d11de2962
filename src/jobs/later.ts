// Large values as pages name them, before they are read: most are read when they are asked for, and some never.
import type { Entry } from './entry.ts'
import type { SpilledValue, SpilledValues } from './spilled-values.ts'

export type Params = Readonly<Record<string, unknown>>

/** A value that lies in its file. */
export class Later {
  readonly #values: SpilledValues
  readonly #file: SpilledValue

  constructor(values: SpilledValues, file: SpilledValue) {
    this.#values = values
    this.#file = file
  }

  /** A file of its own for another job of the same owner. @throws Error where this one is missing */
  takenOver(): SpilledValue {
    return this.#values.takeOver(this.#file)
  }

  /** A value, read where it lies in a file. @throws Error where that is missing, or not what was written */
  static now<T>(value: T): Exclude<T, Later> {
    return (value instanceof Later ? value.#values.read(value.#file) : value) as Exclude<T, Later>
  }
}

/** A page some of whose entries have their values, which stand last, in files: by their places in the list. */
export interface SpilledPage {
  readonly entries: readonly (readonly unknown[])[]
  readonly files: ReadonlyMap<number, SpilledValue>
}

/** What page 0 says: the parameters, or in a list the file that has them. @throws Error where that cannot be read */
export function paramsOf(page: unknown, values: SpilledValues): Params {
  return (Array.isArray(page) ? values.read(page[0] as SpilledValue) : page) as Params
}

/** The entries of any other page. What a job was sent is needed at once, other values when they are asked for. */
export function contentsOf(page: unknown, values: SpilledValues): readonly Entry[] {
  if (Array.isArray(page)) return page as Entry[]
  const { entries, files } = page as SpilledPage
  return entries.map((entry, at) => {
    const file = files.get(at)
    if (!file) return entry as unknown as Entry
    const value = entry[0] === 'push' ? values.read(file) : new Later(values, file)
    return entry.with(-1, value) as unknown as Entry
  })
}
