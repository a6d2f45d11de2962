// One firing of the naive evaluator: its items as far as they were read, its single outputs, and its end.
import type { RefType } from './reference-shape.ts'

type Values = Record<string, unknown>
type Body = ReturnType<RefType['fire']>

/** Thrown by the code of a node that fails. */
export class RefError extends Error {
  readonly type: string
  constructor(type: string, message: string) {
    super(message)
    this.type = type
  }
}

/** A caught failure, as it travels in the place of a value; thrown when a whole stream is read. */
export class Travelling {
  readonly failure: { node_id: string; node_type: string; type: string; message: string }
  constructor(failure: Travelling['failure']) {
    this.failure = failure
  }
}

/** Marks a path without a value. */
export const NOTHING = Symbol('nothing')
/** Thrown where a value never comes because of an uncaught failure. */
export const NEVER = Symbol('never')

/** The items of a firing as far as they were read, and its single outputs. */
export class Firing {
  readonly #items: (Values | Travelling)[] = []
  readonly #begin: () => Body
  readonly #back: (round: number) => Values
  readonly #failed: (cause: unknown) => Travelling | typeof NEVER
  #body: Body | null = null
  #end: Values | Travelling | typeof NEVER | null = null

  constructor(
    begin: () => Body,
    back: (round: number) => Values,
    failed: (cause: unknown) => Travelling | typeof NEVER,
  ) {
    this.#begin = begin
    this.#back = back
    this.#failed = failed
  }

  item(at: number): Values | Travelling | undefined {
    while (at >= this.#items.length && this.#end === null) this.#step()
    if (at >= this.#items.length && this.#end === NEVER) throw NEVER
    return this.#items[at]
  }

  single(): Values | Travelling {
    while (this.#end === null) this.#step()
    if (this.#end === NEVER) throw NEVER
    return this.#end as Values | Travelling
  }

  #step(): void {
    try {
      const back = this.#items.length > 0 ? this.#back(this.#items.length - 1) : {}
      this.#body ??= this.#begin()
      const { done, value } = this.#body.next(back)
      if (done) this.#end = value
      else this.#items.push(value)
    } catch (cause) {
      this.#end = this.#failed(cause)
      if (this.#end instanceof Travelling) this.#items.push(this.#end)
    }
  }
}
