// Collects the results of one node's firings and sends them in the order of their paths.

import type { FiringRecord } from '../../durability/firing-record.ts'
import type { WaitRequest } from '../../durability/journal.ts'
import type { OutputValues } from '../../node-api/firing-forms.ts'
import { Wait } from '../../node-api/wait.ts'
import type { RunParticipant } from '../run/participant.ts'
import type { RunHost } from '../run/run-host.ts'
import {
  type DeliverToken,
  type FiringResult,
  sendEnd,
  sendFailedItem,
  sendItem,
  sendResult,
} from '../streams/token-sender.ts'
import { FailureToken, type StreamEndToken } from '../streams/tokens.ts'
import { Firing, type ItemSource, isThenable, toItemSource } from './firing.ts'
import { ItemFetcher } from './item-fetcher.ts'
import type { NodeCodeRunner } from './node-code-runner.ts'
import { NO_OUTPUTS, validateOutputs } from './result-validation.ts'

/** The limits of firings of one node in flight, and of those in its buffer. */
const MAX_IN_FLIGHT = 16
const MAX_BUFFERED = 64

/** Shared by all nodes whose results never waited. Never modified. */
const EMPTY_BUFFER: Firing[] = []

export class ReorderBuffer {
  readonly #executor: RunParticipant
  readonly #host: RunHost
  readonly #codeRunner: NodeCodeRunner
  readonly #deliver: DeliverToken
  /** Created for the first stream. */
  #itemFetcher: ItemFetcher | null = null
  #firings = EMPTY_BUFFER
  /** The outputs of the last firing; of a stream, its last item. */
  lastOutputs: OutputValues = NO_OUTPUTS

  constructor(executor: RunParticipant, host: RunHost, codeRunner: NodeCodeRunner) {
    this.#executor = executor
    this.#host = host
    this.#codeRunner = codeRunner
    this.#deliver = host.executors.deliver
  }

  get isEmpty(): boolean {
    return this.#firings.length === 0
  }

  /** Whether there is room for another firing or end mark. */
  get hasRoom(): boolean {
    const last = this.#firings.at(-1)
    if (!last) return this.#executor.fullInboxes === 0
    const pulledNow = last.source?.isSync === true && !last.source.hasEnded
    return !pulledNow && this.#codeRunner.inFlight < MAX_IN_FLIGHT && this.#firings.length < MAX_BUFFERED
  }

  /** Whether the first result is ready, so that only its consumers may block it. */
  get isResultReady(): boolean {
    const head = this.#firings[0]
    if (!head) return false
    const { source } = head
    return head.isDone || (source !== null && (source.size > 0 || source.isSync || source.hasEnded))
  }

  /** Takes the result of a firing in any form. */
  takeResult(result: unknown, record: FiringRecord | null = null): void {
    if (isThenable(result)) {
      this.#launch(result, record)
      return
    }
    const source = toItemSource(result)
    if (source) {
      this.addStream(source, record)
      return
    }
    this.#codeRunner.markSynchronous()
    if (record && result instanceof Wait) {
      this.addWait(record, result.request)
      return
    }
    const outputs = this.#validate(result, null)
    if (outputs) this.addResult(outputs)
  }

  /** Sends a firing's result at once, or queues it behind earlier ones. */
  addResult(result: FiringResult): void {
    this.#rememberLast(result)
    const { node } = this.#executor
    // A failing stream sends one more item; its end is sent only when there is room again.
    const goesAtOnce = this.isEmpty && !(node.opensStream && result instanceof FailureToken)
    if (goesAtOnce) sendResult(node, result, this.#deliver)
    else {
      const firing = new Firing(true, result)
      this.#enqueue(firing)
      this.#countMemory(firing)
    }
  }

  /** Passes on the end of a stream around the node, after the firings before it. */
  passEnd(end: StreamEndToken): void {
    if (this.isEmpty) sendEnd(this.#executor.node, end, this.#deliver)
    else this.#enqueue(new Firing(true, null, end))
  }

  /** Adds a firing that yields items. */
  addStream(source: ItemSource, record: FiringRecord | null = null): void {
    this.#stream(this.#reserve(record), source)
  }

  /** Adds a firing that waits for an answer. `isJournaled`: the journal already knows it. */
  addWait(record: FiringRecord, request: WaitRequest, isJournaled = false): void {
    this.#registerWait(this.#reserve(record), record, request, isJournaled)
  }

  /** Adds a firing that was answered before it ran again. */
  addAnswer(record: FiringRecord, value: unknown): void {
    const given = this.#codeRunner.runCode(() => record.resumeWithAnswer(value))
    if (!this.#codeRunner.stopped) this.addResult(given as FiringResult)
  }

  /** Sends the first entry of the buffer, if it is ready and its consumers have room. */
  flush(): boolean {
    const head = this.#firings[0]
    if (!head) return false
    if (this.#executor.fullInboxes > 0) {
      // The stream may have lacked a permit before: items are fetched ahead all the same.
      if (head.source && !head.source.isSync) this.#fetcher.fetchAhead(head, head.source)
      return false
    }
    if (head.source && !head.isDone) return this.#flushItem(head, head.source)
    if (!head.isDone) return false
    const { node } = this.#executor
    if (node.opensStream && head.result instanceof FailureToken && !head.isFailureSent) {
      head.isFailureSent = true
      this.#executor.onStreamFailed()
      sendFailedItem(node, head.result, this.#deliver)
      return true
    }
    this.#firings.shift()
    this.#releaseMemory(head)
    if (head.end) sendEnd(node, head.end, this.#deliver)
    else {
      sendResult(node, head.result, this.#deliver)
      this.#executor.bound?.reset()
    }
    return true
  }

  /** Sends the next item of the stream that is being sent. */
  sendItem(item: OutputValues): void {
    this.lastOutputs = item
    sendItem(this.#executor.node, item, this.#deliver)
    this.#executor.bound?.countSent()
  }

  /** Ends the stream that is being sent, as no consumer wants its rest. False: there is none. */
  cutStream(): boolean {
    const head = this.#firings[0]
    if (!head || head.isDone) return false
    this.#firings[0] = new Firing(true, {})
    this.#drop(head)
    return true
  }

  /** Drops everything before the end of the stream of a level. False: that end has not been read yet. */
  dropUntil(level: number): boolean {
    const end = this.#firings.findIndex((firing) => firing.end !== null && firing.end.level <= level)
    for (const firing of this.#firings.splice(0, end < 0 ? this.#firings.length : end)) this.#drop(firing)
    return end >= 0
  }

  /** Ends all generators. */
  abandon(): void {
    for (const firing of this.#firings.splice(0)) this.#drop(firing)
  }

  /** Adds an entry for a firing whose result is pending. */
  #reserve(record: FiringRecord | null): Firing {
    const firing = new Firing(false, null, null, this.#codeRunner.path)
    firing.record = record
    this.#enqueue(firing)
    return firing
  }

  /** Registers the wait of a firing; none of its work is in flight meanwhile. */
  #registerWait(firing: Firing, record: FiringRecord, request: WaitRequest, isJournaled: boolean): void {
    const resume = (value: unknown) => {
      firing.release = null
      const given = this.#codeRunner.runCode(() => record.resumeWithAnswer(value), firing)
      if (!this.#codeRunner.stopped) this.#finish(firing, given as FiringResult)
    }
    firing.release = this.#host.workLoop.awaitAnswer(
      this.#executor,
      (answer) => record.wait(request, isJournaled, answer),
      resume,
    )
  }

  #finish(firing: Firing, result: FiringResult): void {
    firing.result = result
    this.#countMemory(firing)
    this.#rememberLast(result)
    firing.isDone = true
  }

  #enqueue(firing: Firing): void {
    if (this.#firings === EMPTY_BUFFER) this.#firings = []
    this.#firings.push(firing)
  }

  /** Counts a result that waits for its turn. */
  #countMemory(firing: Firing): void {
    firing.isCounted = true
    this.#host.memoryAccount.addResult(firing.result)
  }

  #releaseMemory(firing: Firing): void {
    if (firing.isCounted) this.#host.memoryAccount.removeResult(firing.result)
    firing.isCounted = false
  }

  #drop(firing: Firing): void {
    this.#releaseMemory(firing)
    firing.isDropped = true
    firing.record?.drop()
    firing.release?.()
    if (!firing.source) return
    firing.source.drop()
    this.#fetcher.close(firing.source)
  }

  get #fetcher(): ItemFetcher {
    this.#itemFetcher ??= new ItemFetcher(this, this.#executor, this.#host, this.#codeRunner)
    return this.#itemFetcher
  }

  #rememberLast(result: FiringResult): void {
    if (result && !(result instanceof FailureToken)) this.lastOutputs = result
  }

  /** Null if the outputs are invalid, which has failed the run. */
  #validate(returned: unknown, firing: Firing | null): FiringResult {
    if (returned instanceof FailureToken) return returned
    try {
      return validateOutputs(this.#executor.node, returned)
    } catch (error) {
      return this.#codeRunner.fail(error, firing)
    }
  }

  #launch(promise: Promise<unknown>, record: FiringRecord | null): void {
    const firing = this.#reserve(record)
    this.#codeRunner.awaitWork(promise, firing, (result) => {
      const source = toItemSource(result)
      if (source) this.#stream(firing, source)
      else if (record && result instanceof Wait) this.#registerWait(firing, record, result.request, false)
      else this.#finish(firing, this.#validate(result, firing))
    })
  }

  #stream(firing: Firing, source: ItemSource): void {
    firing.source = source
    source.countMemoryIn(this.#host.memoryAccount)
    if (firing.record && !source.isSync) firing.record.fetchAll = (ms) => this.#fetcher.fetchToEnd(firing, source, ms)
    if (this.#executor.isUnwanted && firing === this.#firings[0]) this.cutStream()
    else if (source.isSync) this.#codeRunner.markSynchronous()
    else this.#fetcher.fetchAhead(firing, source)
  }

  #flushItem(firing: Firing, source: ItemSource): boolean {
    if (source.size > 0) {
      const item = this.#codeRunner.runCode(() => source.shift(), firing)
      if (item instanceof FailureToken) this.#endWithFailure(firing, source, item)
      else if (item) this.sendItem(item)
      else return false
      if (!source.isSync) this.#fetcher.fetchAhead(firing, source)
      return true
    }
    if (source.hasEnded) {
      firing.isDone = true
      firing.result ??= source.result ?? {}
      // The result of a stream is reported together with its last item.
      if (!(firing.result instanceof FailureToken)) this.#rememberLast({ ...this.lastOutputs, ...firing.result })
      return true
    }
    if (source.isSync) return this.#fetcher.advance(firing, source)
    this.#fetcher.fetchAhead(firing, source)
    return false
  }

  /** Ends the stream with a failure that is passed to a Catch. */
  #endWithFailure(firing: Firing, source: ItemSource, failure: FailureToken): void {
    source.hasEnded = true
    source.drop()
    firing.result = failure
    firing.isDone = true
  }
}
