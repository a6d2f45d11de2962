// The views of a run that write each line once: plain lines, and quiet. The view that redraws is in live-view.ts.

import type { TerminalOutput } from '../shared/terminal.ts'
import { formatDuration, pluralize, stripControlCharacters } from '../shared/terminal-text.ts'
import type { NodeProgress, NodeState, ProgressView, RunProgress } from './progress.ts'

const WORDS: Readonly<Record<NodeState, string>> = {
  waiting: 'waits',
  running: 'runs',
  completed: 'done',
  skipped: 'skipped',
  error: 'failed',
  stopped: 'stopped',
  not_run: 'not run',
}

/** `3 items`: the items produced so far; empty for a node outside of streams. */
export function formatItems({ given, progress, state }: NodeProgress): string {
  if (progress !== null && state === 'running') return `${progress.done}/${progress.total}`
  if (state === 'waiting' || state === 'skipped' || state === 'not_run') return ''
  const { items } = given
  return items === null ? '' : pluralize(items, 'item')
}

/** A line for each node as it ends, and messages between them; no escape codes. */
export function createPlainView(progress: RunProgress, output: TerminalOutput): ProgressView {
  const line = (text: string) => output.write(`${text}\n`)
  return {
    nodeClosed(node: NodeProgress) {
      const time = progress.nodeTime(node)
      const items = formatItems(node)
      const what = `${node.label} ${WORDS[node.state]}`
      line(`${what}${time === null ? '' : ` in ${formatDuration(time)}`}${items === '' ? '' : `, ${items}`}`)
    },
    say: (text) => line(stripControlCharacters(text)),
    end: (total) => line(total),
  }
}

/** Writes only faults that the outcome does not report. */
export function createQuietView(output: TerminalOutput): ProgressView {
  return {
    nodeClosed() {},
    say: (text) => text.startsWith('fault:') && output.write(`${stripControlCharacters(text)}\n`),
    end() {},
  }
}
