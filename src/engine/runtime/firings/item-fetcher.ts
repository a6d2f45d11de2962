// Fetches the items of generators: ahead of the consumers from asynchronous ones, as far as there is room, and one by one from plain ones.

import type { OutputValues } from '../../node-api/firing-forms.ts'
import type { RunParticipant } from '../run/participant.ts'
import type { RunHost } from '../run/run-host.ts'
import { FailureToken } from '../streams/tokens.ts'
import { Firing, type ItemSource, isThenable } from './firing.ts'
import { isNodeResult, type NodeCodeRunner } from './node-code-runner.ts'
import { validateItem, validateOutputs } from './result-validation.ts'

/** Stands for a firing that is over except for the end of its generator. Never modified. */
const ABANDONED_FIRING = new Firing(true)
ABANDONED_FIRING.isDropped = true

/** Sends the items of plain generators, which are fetched only when they can be sent. */
interface ItemSender {
  sendItem(item: OutputValues): void
}

export class ItemFetcher {
  readonly #sender: ItemSender
  readonly #executor: RunParticipant
  readonly #host: RunHost
  readonly #codeRunner: NodeCodeRunner

  constructor(sender: ItemSender, executor: RunParticipant, host: RunHost, codeRunner: NodeCodeRunner) {
    this.#sender = sender
    this.#executor = executor
    this.#host = host
    this.#codeRunner = codeRunner
  }

  /** Fetches the next item of an asynchronous generator while there is room. */
  fetchAhead(firing: Firing, source: ItemSource): void {
    const { iterator } = source
    if (!iterator || source.isPulling || source.hasEnded || !source.hasRoom || this.#codeRunner.stopped) return
    if (this.#executor.node.type.isPulledOnDemand && !source.isEager) this.#fetchAfterOthers(firing, source)
    else this.#fetch(firing, source)
  }

  /** Fetches all items of a stream within the weight limit, for `ms` from the first call. False: that is impossible. */
  fetchToEnd(firing: Firing, source: ItemSource, ms: number): boolean {
    source.eagerUntil ||= performance.now() + ms
    this.fetchAhead(firing, source)
    return source.isPulling
  }

  /** Advances a plain generator and sends its item. False: the run has stopped. */
  advance(firing: Firing, source: ItemSource): boolean {
    const step = this.#codeRunner.runCode(() => source.iterator!.next() as IteratorResult<unknown>, firing)
    if (this.#codeRunner.stopped || !step) return false
    this.#receiveStep(firing, source, step)
    return !this.#codeRunner.stopped
  }

  /** Ends the generator of a stream. */
  close(source: ItemSource): void {
    if (source.hasEnded) return
    source.hasEnded = true
    if (!source.iterator?.return) return
    try {
      const returned: unknown = source.iterator.return()
      if (isThenable(returned)) this.#codeRunner.awaitWork(returned, ABANDONED_FIRING, () => {})
    } catch {
      // The stream is unwanted: errors of the generator's end are ignored.
    }
  }

  /** Fetches once the previous item has left and all other nodes had their turn: these may find that they want no more. */
  #fetchAfterOthers(firing: Firing, source: ItemSource): void {
    if (source.isPullDeferred || source.size > 0 || this.#executor.fullInboxes > 0) return
    source.isPullDeferred = true
    this.#host.scheduler.runLast(() => {
      source.isPullDeferred = false
      if (!source.isPulling && !source.hasEnded && source.size === 0 && !this.#codeRunner.stopped)
        this.#fetch(firing, source)
    })
  }

  #fetch(firing: Firing, source: ItemSource): void {
    if (!this.#codeRunner.canLaunch()) return
    const next = this.#codeRunner.runCode(() => source.iterator!.next(), firing)
    if (this.#codeRunner.stopped) return
    source.isPulling = true
    this.#codeRunner.awaitWork(next, firing, (step) => {
      source.isPulling = false
      this.#receiveStep(firing, source, step as IteratorResult<unknown> | FailureToken)
      this.fetchAhead(firing, source)
    })
  }

  #receiveStep(firing: Firing, source: ItemSource, step: IteratorResult<unknown> | FailureToken): void {
    const result = isNodeResult(step) ? this.#validateStep(step, firing) : step
    if (result instanceof FailureToken) {
      // Items from before the failure are sent first.
      firing.result = result
      this.close(source)
    } else if (!result) return
    else if (step instanceof FailureToken || step.done) {
      firing.result = result
      source.hasEnded = true
    } else if (source.isSync) this.#sender.sendItem(result)
    else source.push(result)
  }

  /** The validated item or final outputs; a failure for a Catch; null if the run has failed. */
  #validateStep(step: IteratorResult<unknown>, firing: Firing): OutputValues | FailureToken | null {
    const { node } = this.#executor
    try {
      return step.done ? validateOutputs(node, step.value) : validateItem(node, step.value)
    } catch (error) {
      return this.#codeRunner.fail(error, firing)
    }
  }
}
