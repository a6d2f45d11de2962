// Takes what the firings of one node give, at once or later, and sends it out in the order of their paths. Items of a
// generator are fetched only as there is room for them.
import { asSource, Firing, type ItemSource, isThenable } from './firing.ts'
import type { Outputs } from './node-type.ts'
import { Outbox } from './outbox.ts'
import type { Performer, Stage } from './performer.ts'
import { checkedItem, checkedOutputs } from './results.ts'
import type { Tasks } from './tasks.ts'
import type { End } from './tokens.ts'

/** How many firings of one node may be in flight, and how many may wait in its window. */
const IN_FLIGHT = 16
const WINDOW = 64

export class ResultsWindow {
  readonly #performer: Performer
  readonly #tasks: Tasks
  readonly #outbox: Outbox
  readonly #window: Firing[] = []
  /** The outputs of the last firing; of a stream, its last item. */
  last: Outputs = {}

  constructor(performer: Performer, stage: Stage, tasks: Tasks) {
    this.#performer = performer
    this.#tasks = tasks
    this.#outbox = new Outbox(performer.node, stage.deliver)
  }

  get empty(): boolean {
    return this.#window.length === 0
  }

  /** Whether one more firing, or end, has its place. */
  get hasRoom(): boolean {
    const last = this.#window.at(-1)
    if (!last) return this.#performer.full === 0
    const pulledNow = last.source?.sync === true && !last.source.ended
    return !pulledNow && this.#tasks.inFlight < IN_FLIGHT && this.#window.length < WINDOW
  }

  /** Whether the first result is there, and only its way out may be barred. */
  get due(): boolean {
    const head = this.#window[0]
    if (!head) return false
    const { source } = head
    return head.done || (source !== null && (source.size > 0 || source.sync || source.ended))
  }

  /** Takes what a firing gave, whichever way it came. */
  take(result: unknown): void {
    if (isThenable(result)) {
      this.#launch(result)
      return
    }
    const source = asSource(result)
    if (source) {
      this.open(source)
      return
    }
    this.#tasks.cameAtOnce()
    const outputs = this.#checked(result)
    if (outputs) this.settle(outputs)
  }

  /** A firing's result (null: skipped) goes out at once, or waits for those before it. */
  settle(outputs: Outputs | null): void {
    if (outputs) this.last = outputs
    if (this.empty) this.#outbox.sendOutputs(outputs)
    else this.#window.push(new Firing(true, outputs))
  }

  /** The end of a stream around the node passes on, after the firings before it. */
  passEnd(end: End): void {
    if (this.empty) this.#outbox.sendEnd(end)
    else this.#window.push(new Firing(true, null, end))
  }

  /** A firing whose items come one after the other. */
  open(source: ItemSource): void {
    const firing = new Firing(false)
    this.#window.push(firing)
    this.#stream(firing, source)
  }

  /** Sends what is first in the window, if it is there and its consumers have room. */
  flush(): boolean {
    const head = this.#window[0]
    if (!head || this.#performer.full > 0) return false
    if (head.source && !head.done) return this.#flushItem(head, head.source)
    if (!head.done) return false
    this.#window.shift()
    if (head.end) this.#outbox.sendEnd(head.end)
    else this.#outbox.sendOutputs(head.outputs)
    return true
  }

  /** Ends all generators. */
  abandon(): void {
    for (const { source } of this.#window) {
      const iterator = source?.iterator
      if (!iterator?.return || source?.ended) continue
      try {
        const returned: unknown = iterator.return()
        if (isThenable(returned)) returned.then(undefined, () => {})
      } catch {
        // The run is over: what a generator says while it is put away has no listener.
      }
    }
    this.#window.length = 0
  }

  /** Null where the outputs are bad, which has failed the run. */
  #checked(returned: unknown): Outputs | null {
    try {
      return checkedOutputs(this.#performer.node, returned)
    } catch (error) {
      this.#tasks.fail(error)
      return null
    }
  }

  #launch(promise: Promise<unknown>): void {
    const firing = new Firing(false)
    this.#window.push(firing)
    this.#tasks.wait(promise, (result) => {
      const source = asSource(result)
      if (source) {
        this.#stream(firing, source)
        return
      }
      firing.outputs = this.#checked(result)
      if (firing.outputs) this.last = firing.outputs
      firing.done = true
    })
  }

  #stream(firing: Firing, source: ItemSource): void {
    firing.source = source
    if (source.sync) this.#tasks.cameAtOnce()
    else this.#pull(firing, source)
  }

  #flushItem(firing: Firing, source: ItemSource): boolean {
    if (source.size > 0) {
      const item = this.#tasks.attempt(() => source.shift())
      if (!item) return false
      this.#sendItem(item)
      if (!source.sync) this.#pull(firing, source)
      return true
    }
    if (source.ended) {
      firing.done = true
      firing.outputs ??= {}
      return true
    }
    if (source.sync) return this.#pullNow(firing, source)
    this.#pull(firing, source)
    return false
  }

  #sendItem(item: Outputs): void {
    this.last = item
    this.#outbox.sendItem(item)
  }

  /** Asks an asynchronous generator for its next item, as long as there is room for it. */
  #pull(firing: Firing, source: ItemSource): void {
    const { iterator } = source
    if (!iterator || source.pulling || source.ended || !source.hasRoom || this.#tasks.stopped) return
    if (!this.#tasks.mayLaunch()) return
    const next = this.#tasks.attempt(() => iterator.next())
    if (this.#tasks.stopped) return
    source.pulling = true
    this.#tasks.wait(next, (step) => {
      source.pulling = false
      this.#receiveStep(firing, source, step as IteratorResult<unknown>)
      this.#pull(firing, source)
    })
  }

  /** Asks a plain generator for its next item and sends it on. */
  #pullNow(firing: Firing, source: ItemSource): boolean {
    const step = this.#tasks.attempt(() => source.iterator!.next()) as IteratorResult<unknown> | undefined
    if (this.#tasks.stopped || !step) return false
    this.#receiveStep(firing, source, step)
    return !this.#tasks.stopped
  }

  #receiveStep(firing: Firing, source: ItemSource, step: IteratorResult<unknown>): void {
    const { node } = this.#performer
    try {
      if (step.done) {
        firing.outputs = checkedOutputs(node, step.value)
        this.last = { ...this.last, ...firing.outputs }
        source.ended = true
      } else if (source.sync) this.#sendItem(checkedItem(node, step.value))
      else source.push(checkedItem(node, step.value))
    } catch (error) {
      this.#tasks.fail(error)
    }
  }
}
