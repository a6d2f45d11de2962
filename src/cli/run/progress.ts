// The progress of a run, node by node, for the views of the terminal.

import type { Plan } from '../../engine/compile/compiler.ts'
import type { NodeStatus, ObservedNode, RunObserver } from '../../engine/runtime/run/observer.ts'
import { toSingleLine } from '../shared/terminal-text.ts'
import { ItemCounter } from './item-counter.ts'

/** `waiting` before the first firing; `stopped` and `not_run` if the run ended first. */
export type NodeState = 'waiting' | 'running' | 'completed' | 'skipped' | 'error' | 'stopped' | 'not_run'

export interface NodeProgress {
  readonly label: string
  state: NodeState
  /** The items that the node has produced so far. */
  readonly given: ItemCounter
  /** The progress that the node itself reports. */
  progress: { readonly done: number; readonly total: number } | null
  /** Monotonic milliseconds; null before the start. */
  began: number | null
  ended: number | null
}

/** Receives changes. All calls are synchronous. */
export interface ProgressView {
  /** A node has ended. */
  nodeClosed(node: NodeProgress): void
  /** Shows a message beside the progress, in one or more lines. */
  say(text: string): void
  /** The run has ended; `total` says how. */
  end(total: string): void
}

/** The id, with the name if it says more. */
function nodeLabel({ node_id, node_name }: ObservedNode): string {
  const id = toSingleLine(node_id)
  const name = toSingleLine(node_name)
  return name === '' || name.toLowerCase() === id.toLowerCase() ? id : `${id} (${name})`
}

export class RunProgress {
  readonly nodes: readonly NodeProgress[]
  readonly started: number
  readonly counts: Record<NodeState, number>
  readonly #byId: ReadonlyMap<string, NodeProgress>
  readonly #byEdge = new Map<string, { readonly from: ItemCounter; readonly port: number; readonly to: ItemCounter }>()
  readonly #now: () => number

  constructor(plan: Plan, now: () => number) {
    this.#now = now
    this.started = now()
    this.nodes = plan.nodes.map((node) => ({
      label: nodeLabel(node.observed),
      state: 'waiting',
      given: new ItemCounter(node),
      progress: null,
      began: null,
      ended: null,
    }))
    this.#byId = new Map(plan.nodes.map((node) => [node.observed.node_id, this.nodes[node.index]!]))
    for (const { index, ports } of plan.nodes) {
      for (const [port, { targets }] of ports.entries()) {
        for (const { node, slot } of targets) {
          const edge = { from: this.nodes[index]!.given, port, to: this.nodes[node]!.given }
          this.#byEdge.set(plan.nodes[node]!.slots[slot]!.edge_id, edge)
        }
      }
    }
    const none = { running: 0, completed: 0, skipped: 0, error: 0, stopped: 0, not_run: 0 }
    this.counts = { waiting: this.nodes.length, ...none }
  }

  get elapsed(): number {
    return this.#now() - this.started
  }

  /** How long a node has been at work; null: it was never started. */
  nodeTime({ began, ended }: NodeProgress): number | null {
    return began === null ? null : (ended ?? this.#now()) - began
  }

  /** Marks unfinished nodes once the run has ended. */
  close(): void {
    for (const node of this.nodes) {
      if (node.state === 'running') this.#move(node, 'stopped')
      else if (node.state === 'waiting') this.#move(node, 'not_run')
    }
  }

  /** An observer that records the reports of the engine and passes them to the view. `redact` replaces the secrets in messages. */
  observer(view: ProgressView, redact = (message: string) => message): RunObserver {
    const say = (message: string) => view.say(redact(message))
    return {
      nodeUpdated: ({ node_id }, status) => {
        const node = this.#byId.get(node_id)!
        this.#update(node, status)
        if (status !== 'running') view.nodeClosed(node)
      },
      output: ({ node_id }) => {
        this.#byId.get(node_id)!.given.recordPublished()
      },
      edgeUpdated: (edge_id, _status, counter) => {
        const edge = this.#byEdge.get(edge_id)
        if (!edge) return
        edge.from.recordSent(edge.port, counter)
        edge.to.recordReceived(counter)
      },
      progress: ({ node_id }, done, total) => {
        this.#byId.get(node_id)!.progress = { done, total }
      },
      chunk() {},
      log: ({ node_id }, severity, content) => say(`${severity}: ${this.#byId.get(node_id)!.label}: ${content}`),
      fault: ({ node_id }, cause, told) => {
        const label = this.#byId.get(node_id)?.label ?? 'the run'
        say(told ? `cause: ${label}: ${messageOf(cause)}` : `fault: ${label}: ${stackOf(cause)}`)
      },
    }
  }

  #update(node: NodeProgress, status: NodeStatus): void {
    const now = this.#now()
    if (status === 'running') node.began = now
    else if (node.began !== null) node.ended = now
    this.#move(node, status)
  }

  #move(node: NodeProgress, state: NodeState): void {
    this.counts[node.state]--
    this.counts[state]++
    node.state = state
    if (state === 'stopped') node.ended = this.#now()
  }
}

/** The cause of a failure that the node itself reports. */
function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

/** The stack of a fault: only the person at this terminal reads it. */
function stackOf(cause: unknown): string {
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
}
