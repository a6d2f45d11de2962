// The view of a run that is redrawn in place: a line for each node, as many as fit, and a total.

import type { TerminalOutput } from '../shared/terminal.ts'
import {
  displayWidth,
  fitToWidth,
  formatDuration,
  formatInteger,
  type PaintText,
  paintInColor,
  pluralize,
  stripControlCharacters,
  truncateToWidth,
} from '../shared/terminal-text.ts'
import { formatItems } from './plain-views.ts'
import type { NodeProgress, NodeState, ProgressView, RunProgress } from './progress.ts'

type StateStyle = readonly [mark: string, style: Parameters<PaintText>[0], word: string]

const STATE_STYLES: Readonly<Record<NodeState, StateStyle>> = {
  waiting: ['·', 'dim', 'waiting'],
  running: ['▸', 'cyan', 'running'],
  completed: ['✓', 'green', 'done'],
  skipped: ['–', 'dim', 'skipped'],
  error: ['✗', 'red', 'failed'],
  stopped: ['■', 'yellow', 'stopped'],
  not_run: ['·', 'dim', 'not run'],
}

/** The order in which nodes keep their line if not all fit: finished nodes are folded first. */
const RANK: Readonly<Record<NodeState, number>> = {
  error: 0,
  running: 1,
  stopped: 1,
  waiting: 2,
  not_run: 3,
  skipped: 3,
  completed: 3,
}
const RANKS = [0, 1, 2, 3]

/** The widths of the columns beside the label: mark, items, time, and the spaces between. */
const ITEMS = 16
const TIME = 12
const BESIDE = 2 + ITEMS + TIME
const SHORTEST_LABEL = 12
const NARROWEST = SHORTEST_LABEL + BESIDE

/** The nodes that are shown, in their order, at most `most`. */
function chooseShownNodes(nodes: readonly NodeProgress[], most: number): readonly NodeProgress[] {
  if (nodes.length <= most) return nodes
  const shown = new Set<NodeProgress>()
  for (const rank of RANKS) {
    for (const node of nodes) {
      if (shown.size === most) return [...filterNodes(nodes, shown)]
      if (RANK[node.state] === rank) shown.add(node)
    }
  }
  return [...filterNodes(nodes, shown)]
}

function filterNodes(nodes: readonly NodeProgress[], shown: ReadonlySet<NodeProgress>): NodeProgress[] {
  return nodes.filter((node) => shown.has(node))
}

function formatFoldedNodes(progress: RunProgress, shown: readonly NodeProgress[]): string {
  const left = { ...progress.counts }
  for (const node of shown) left[node.state]--
  const parts = (Object.keys(STATE_STYLES) as NodeState[]).filter((state) => left[state] > 0)
  return `  … and ${parts.map((state) => `${formatInteger(left[state])} ${STATE_STYLES[state][2]}`).join(', ')}`
}

/**
 * The lines of one frame without line ends: a line for each node, one for folded nodes, and the total. No line is wider than `columns`, and there are
 * at most `rows` lines, unless the window is too small for any.
 */
export function renderProgress(
  progress: RunProgress,
  total: string,
  { columns, rows, paint }: { columns: number; rows: number; paint: PaintText },
): string[] {
  const { nodes } = progress
  const fold = nodes.length + 1 > rows
  const shown = chooseShownNodes(nodes, fold ? Math.max(0, rows - 2) : nodes.length)
  const label = Math.min(Math.max(SHORTEST_LABEL, ...shown.map((node) => displayWidth(node.label))), columns - BESIDE)
  const lines = shown.map((node) => {
    const [mark, style] = STATE_STYLES[node.state]
    const time = progress.nodeTime(node)
    if (columns < NARROWEST) return `${paint(style, mark)} ${truncateToWidth(node.label, Math.max(1, columns - 2))}`
    const facts = formatItems(node).padStart(ITEMS) + (time === null ? '' : formatDuration(time)).padStart(TIME)
    const dim = style === 'dim' ? paint('dim', fitToWidth(node.label, label)) : fitToWidth(node.label, label)
    return `${paint(style, mark)} ${dim}${paint('dim', facts)}`
  })
  const folded = fold ? [paint('dim', truncateToWidth(formatFoldedNodes(progress, shown), columns))] : []
  return [...lines, ...folded, paint('bold', truncateToWidth(total, columns))]
}

/** Milliseconds between two frames. */
const INTERVAL = 100
const UP = (lines: number) => `\u001b[${lines}A`
const CLEAR_BELOW = '\r\u001b[J'

export class LiveView implements ProgressView {
  readonly #progress: RunProgress
  readonly #output: TerminalOutput
  readonly #total: () => string
  readonly #timer: NodeJS.Timeout
  #pending_text = ''
  #drawn = 0

  /** @param total the last line while the run goes on */
  constructor(progress: RunProgress, output: TerminalOutput, total: () => string) {
    this.#progress = progress
    this.#output = output
    this.#total = total
    this.#timer = setInterval(() => this.#draw(this.#total()), INTERVAL)
  }

  nodeClosed(): void {}

  say(text: string): void {
    const [word = ''] = text.split(':', 1)
    const style = word === 'error' || word === 'fault' ? 'red' : word === 'warning' ? 'yellow' : 'dim'
    this.#pending_text += `${paintInColor(style, stripControlCharacters(text))}\n`
  }

  end(total: string): void {
    clearInterval(this.#timer)
    this.#draw(total)
  }

  /** Writes pending messages above the frame, which is redrawn below them: all in one write, to avoid flicker. */
  #draw(total: string): void {
    const { columns = 80, rows = 24 } = this.#output
    // The last column and the last line stay free: writing there may scroll the window.
    const lines = renderProgress(this.#progress, total, { columns: columns - 1, rows: rows - 1, paint: paintInColor })
    const back = this.#drawn > 0 ? UP(this.#drawn) : ''
    this.#output.write(`${back}${CLEAR_BELOW}${this.#pending_text}${lines.join('\n')}\n`)
    this.#pending_text = ''
    this.#drawn = lines.length
  }
}

/** `3 of 6 nodes, 2 running, 1.2 s`. */
export function formatTotalSoFar(progress: RunProgress): string {
  const { counts, nodes, elapsed } = progress
  const over = nodes.length - counts.waiting - counts.running
  const running = counts.running > 0 ? `, ${counts.running} running` : ''
  return `${formatInteger(over)} of ${pluralize(nodes.length, 'node')}${running}, ${formatDuration(elapsed)}`
}
