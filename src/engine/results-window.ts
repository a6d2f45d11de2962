// Takes what the firings of one node give, at once or later, and sends it out in the order of their paths. Items of a
// generator are fetched only as there is room for them.
import { asSource, Firing, type ItemSource, isThenable } from './firing.ts'
import type { WaitRequest } from './journal.ts'
import type { Memo } from './memo.ts'
import { type Outputs, Wait } from './node-type.ts'
import { type Deliver, type Result, sendEnd, sendFailedItem, sendItem, sendResult } from './outbox.ts'
import type { Member, Stage } from './performer.ts'
import { checkedItem, checkedOutputs, NO_OUTPUTS } from './results.ts'
import { isValue, type Tasks } from './tasks.ts'
import { type End, Failure } from './tokens.ts'

/** How many firings of one node may be in flight, and how many may wait in its window. */
const IN_FLIGHT = 16
const WINDOW = 64

/** Shared by all nodes whose results never had to wait. Never written to. */
const EMPTY: Firing[] = []

/** Stands for a firing that is over but for the end of its generator. Never changed. */
const PUT_AWAY = new Firing(true)
PUT_AWAY.dropped = true

export class ResultsWindow {
  readonly #performer: Member
  readonly #stage: Stage
  readonly #tasks: Tasks
  readonly #deliver: Deliver
  #window = EMPTY
  /** The outputs of the last firing; of a stream, its last item. */
  last: Outputs = NO_OUTPUTS

  constructor(performer: Member, stage: Stage, tasks: Tasks) {
    this.#performer = performer
    this.#stage = stage
    this.#tasks = tasks
    this.#deliver = stage.deliver
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
  take(result: unknown, memo: Memo | null = null): void {
    if (isThenable(result)) {
      this.#launch(result, memo)
      return
    }
    const source = asSource(result)
    if (source) {
      this.open(source, memo)
      return
    }
    this.#tasks.cameAtOnce()
    if (memo && result instanceof Wait) {
      this.wait(memo, result.request)
      return
    }
    const outputs = this.#checked(result, null)
    if (outputs) this.settle(outputs)
  }

  /** A firing's result goes out at once, or waits for those before it. */
  settle(result: Result): void {
    this.#note(result)
    const { node } = this.#performer
    // A stream that fails has one more item, and its end goes out only when there is room for it again.
    const goesAtOnce = this.empty && !(node.streaming && result instanceof Failure)
    if (goesAtOnce) sendResult(node, result, this.#deliver)
    else {
      const firing = new Firing(true, result)
      this.#push(firing)
      this.#hold(firing)
    }
  }

  /** The end of a stream around the node passes on, after the firings before it. */
  passEnd(end: End): void {
    if (this.empty) sendEnd(this.#performer.node, end, this.#deliver)
    else this.#push(new Firing(true, null, end))
  }

  /** A firing whose items come one after the other. */
  open(source: ItemSource, memo: Memo | null = null): void {
    this.#stream(this.#await(memo), source)
  }

  /** A firing that goes on when it is answered. `told`: it is known that it waits. */
  wait(memo: Memo, request: WaitRequest, told = false): void {
    this.#park(this.#await(memo), memo, request, told)
  }

  /** A firing that was answered before it was run again. */
  settleAnswer(memo: Memo, value: unknown): void {
    const given = this.#tasks.attempt(() => memo.answered(value))
    if (!this.#tasks.stopped) this.settle(given as Result)
  }

  /** Sends what is first in the window, if it is there and its consumers have room. */
  flush(): boolean {
    const head = this.#window[0]
    if (!head) return false
    if (this.#performer.full > 0) {
      // It may have had to wait for a place before it could ask: items are fetched ahead all the same.
      if (head.source && !head.source.sync) this.#pull(head, head.source)
      return false
    }
    if (head.source && !head.done) return this.#flushItem(head, head.source)
    if (!head.done) return false
    const { node } = this.#performer
    if (node.streaming && head.result instanceof Failure && !head.itemSent) {
      head.itemSent = true
      this.#performer.failsStream()
      sendFailedItem(node, head.result, this.#deliver)
      return true
    }
    this.#window.shift()
    this.#letGo(head)
    if (head.end) sendEnd(node, head.end, this.#deliver)
    else {
      sendResult(node, head.result, this.#deliver)
      this.#performer.bound?.reset()
    }
    return true
  }

  /** Nobody wants the rest of the stream that is on its way out: its generator is ended, its end goes out. False: none is. */
  cutStream(): boolean {
    const head = this.#window[0]
    if (!head || head.done) return false
    this.#window[0] = new Firing(true, {})
    this.#drop(head)
    return true
  }

  /** Drops what comes before the end of the stream of a level. False: that end has not been read yet. */
  dropUntil(level: number): boolean {
    const end = this.#window.findIndex((firing) => firing.end !== null && firing.end.level <= level)
    for (const firing of this.#window.splice(0, end < 0 ? this.#window.length : end)) this.#drop(firing)
    return end >= 0
  }

  /** Ends all generators. */
  abandon(): void {
    for (const firing of this.#window.splice(0)) this.#drop(firing)
  }

  /** A place for a firing of which the result is awaited. */
  #await(memo: Memo | null): Firing {
    const firing = new Firing(false, null, null, this.#tasks.path)
    firing.memo = memo
    this.#push(firing)
    return firing
  }

  /** Leaves a firing in its place until it is answered: nothing of it is in flight meanwhile. */
  #park(firing: Firing, memo: Memo, request: WaitRequest, told: boolean): void {
    const answer = (value: unknown) => {
      firing.release = null
      const given = this.#tasks.attempt(() => memo.answered(value), firing)
      if (!this.#tasks.stopped) this.#finish(firing, given as Result)
    }
    firing.release = this.#stage.park(this.#performer, memo, request, told, answer)
  }

  #finish(firing: Firing, result: Result): void {
    firing.result = result
    this.#hold(firing)
    this.#note(result)
    firing.done = true
  }

  #push(firing: Firing): void {
    if (this.#window === EMPTY) this.#window = []
    this.#window.push(firing)
  }

  /** Counts a result that waits for its turn. */
  #hold(firing: Firing): void {
    firing.held = true
    this.#stage.held.addResult(firing.result)
  }

  #letGo(firing: Firing): void {
    if (firing.held) this.#stage.held.removeResult(firing.result)
    firing.held = false
  }

  #drop(firing: Firing): void {
    this.#letGo(firing)
    firing.dropped = true
    firing.memo?.drop()
    firing.release?.()
    if (!firing.source) return
    firing.source.drop()
    this.#end(firing.source)
  }

  /** Ends the generator of a stream. */
  #end(source: ItemSource): void {
    if (source.ended) return
    source.ended = true
    if (!source.iterator?.return) return
    try {
      const returned: unknown = source.iterator.return()
      if (isThenable(returned)) this.#tasks.wait(returned, PUT_AWAY, () => {})
    } catch {
      // Nobody wants it any more: what a generator says while it is put away has no listener.
    }
  }

  #note(result: Result): void {
    if (result && !(result instanceof Failure)) this.last = result
  }

  /** Null where the outputs are bad, which has failed the run. */
  #checked(returned: unknown, firing: Firing | null): Result {
    if (returned instanceof Failure) return returned
    try {
      return checkedOutputs(this.#performer.node, returned)
    } catch (error) {
      return this.#tasks.fail(error, firing)
    }
  }

  #launch(promise: Promise<unknown>, memo: Memo | null): void {
    const firing = this.#await(memo)
    this.#tasks.wait(promise, firing, (result) => {
      const source = asSource(result)
      if (source) this.#stream(firing, source)
      else if (memo && result instanceof Wait) this.#park(firing, memo, result.request, false)
      else this.#finish(firing, this.#checked(result, firing))
    })
  }

  #stream(firing: Firing, source: ItemSource): void {
    firing.source = source
    source.countIn(this.#stage.held)
    if (firing.memo && !source.sync) firing.memo.fetchAll = (ms) => this.#hasten(firing, source, ms)
    if (this.#performer.unwanted && firing === this.#window[0]) this.cutStream()
    else if (source.sync) this.#tasks.cameAtOnce()
    else this.#pull(firing, source)
  }

  #flushItem(firing: Firing, source: ItemSource): boolean {
    if (source.size > 0) {
      const item = this.#tasks.attempt(() => source.shift(), firing)
      if (item instanceof Failure) this.#fail(firing, source, item)
      else if (item) this.#sendItem(item)
      else return false
      if (!source.sync) this.#pull(firing, source)
      return true
    }
    if (source.ended) {
      firing.done = true
      firing.result ??= source.result ?? {}
      // The result of a stream is told with its last item.
      if (!(firing.result instanceof Failure)) this.#note({ ...this.last, ...firing.result })
      return true
    }
    if (source.sync) return this.#pullNow(firing, source)
    this.#pull(firing, source)
    return false
  }

  /** The stream ends here, with a failure that is held. */
  #fail(firing: Firing, source: ItemSource, failure: Failure): void {
    source.ended = true
    source.drop()
    firing.result = failure
    firing.done = true
  }

  #sendItem(item: Outputs): void {
    this.last = item
    sendItem(this.#performer.node, item, this.#deliver)
    this.#performer.bound?.sent()
  }

  /** Asks an asynchronous generator for its next item, as long as there is room for it. */
  #pull(firing: Firing, source: ItemSource): void {
    const { iterator } = source
    if (!iterator || source.pulling || source.ended || !source.hasRoom || this.#tasks.stopped) return
    if (this.#performer.node.type.frugal && !source.hurried) this.#pullLast(firing, source)
    else this.#fetch(firing, source)
  }

  /** Asks once the item before has left and all others had their turn: they may find that they want no more. */
  #pullLast(firing: Firing, source: ItemSource): void {
    if (source.patient || source.size > 0 || this.#performer.full > 0) return
    source.patient = true
    this.#stage.afterOthers(() => {
      source.patient = false
      if (!source.pulling && !source.ended && source.size === 0 && !this.#tasks.stopped) this.#fetch(firing, source)
    })
  }

  #fetch(firing: Firing, source: ItemSource): void {
    if (!this.#tasks.mayLaunch()) return
    const next = this.#tasks.attempt(() => source.iterator!.next(), firing)
    if (this.#tasks.stopped) return
    source.pulling = true
    this.#tasks.wait(next, firing, (step) => {
      source.pulling = false
      this.#receiveStep(firing, source, step as IteratorResult<unknown> | Failure)
      this.#pull(firing, source)
    })
  }

  /** Fetches all items of a stream, as far as they are not too heavy, for so long since it first did. False: it can not. */
  #hasten(firing: Firing, source: ItemSource, ms: number): boolean {
    source.hurriedUntil ||= performance.now() + ms
    this.#pull(firing, source)
    return source.pulling
  }

  /** Asks a plain generator for its next item and sends it on. */
  #pullNow(firing: Firing, source: ItemSource): boolean {
    const step = this.#tasks.attempt(() => source.iterator!.next() as IteratorResult<unknown>, firing)
    if (this.#tasks.stopped || !step) return false
    this.#receiveStep(firing, source, step)
    return !this.#tasks.stopped
  }

  #receiveStep(firing: Firing, source: ItemSource, step: IteratorResult<unknown> | Failure): void {
    const result = isValue(step) ? this.#judged(step, firing) : step
    if (result instanceof Failure) {
      // What the generator gave before goes out first.
      firing.result = result
      this.#end(source)
    } else if (!result) return
    else if (step instanceof Failure || step.done) {
      firing.result = result
      source.ended = true
    } else if (source.sync) this.#sendItem(result)
    else source.push(result)
  }

  /** An item or the outputs at the end, once found good; a failure that is held; null where the run has failed. */
  #judged(step: IteratorResult<unknown>, firing: Firing): Outputs | Failure | null {
    const { node } = this.#performer
    try {
      return step.done ? checkedOutputs(node, step.value) : checkedItem(node, step.value)
    } catch (error) {
      return this.#tasks.fail(error, firing)
    }
  }
}
