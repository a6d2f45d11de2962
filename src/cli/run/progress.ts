// How far a run has come, node by node, as the views of the terminal show it.

import type { Plan } from '../../engine/compile/compiler.ts'
import type { NodeStatus, ObservedNode, RunObserver } from '../../engine/runtime/run/observer.ts'
import { toSingleLine } from '../shared/terminal-text.ts'
import { ItemCounter } from './item-counter.ts'

/** `waiting` before the first firing; `stopped` and `not_run` where the run ended first. */
export type NodeState = 'waiting' | 'running' | 'completed' | 'skipped' | 'error' | 'stopped' | 'not_run'

export interface NodeProgress {
  readonly label: string
  state: NodeState
  /** What it has given so far. */
  readonly given: ItemCounter
  /** What the node says of its own progress. */
  progress: { readonly done: number; readonly total: number } | null
  /** Monotonic milliseconds; null before. */
  began: number | null
  ended: number | null
}

/** What hears of changes. All of it is synchronous. */
export interface ProgressView {
  /** A node is closed. */
  nodeClosed(node: NodeProgress): void
  /** Something to be said beside the progress, in one or more lines. */
  say(text: string): void
  /** The run is over; `total` says how. */
  end(total: string): void
}

/** `id`, with the name where it says more. */
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

  /** How long a node has been at work, null where it never was. */
  nodeTime({ began, ended }: NodeProgress): number | null {
    return began === null ? null : (ended ?? this.#now()) - began
  }

  /** Nothing happens any more. */
  close(): void {
    for (const node of this.nodes) {
      if (node.state === 'running') this.#move(node, 'stopped')
      else if (node.state === 'waiting') this.#move(node, 'not_run')
    }
  }

  /** What the engine tells, kept and handed to the view. */
  observer(view: ProgressView): RunObserver {
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
      log: ({ node_id }, severity, content) => view.say(`${severity}: ${this.#byId.get(node_id)!.label}: ${content}`),
      fault: ({ node_id }, cause, told) => {
        const label = this.#byId.get(node_id)?.label ?? 'the run'
        view.say(told ? `cause: ${label}: ${messageOf(cause)}` : `fault: ${label}: ${stackOf(cause)}`)
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

/** What is behind a failure that the node itself tells of. */
function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

/** The cause of a fault, for whoever runs the workflow at this terminal: nobody else reads it. */
function stackOf(cause: unknown): string {
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
}
