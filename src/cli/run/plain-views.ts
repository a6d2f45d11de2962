// The views of a run that write lines once: plain lines, and silence. The one that redraws is live-view.ts.

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

/** `3 items`: those that it has given so far; nothing of a node outside of streams. */
export function formatItems({ given, progress, state }: NodeProgress): string {
  if (progress !== null && state === 'running') return `${progress.done}/${progress.total}`
  if (state === 'waiting' || state === 'skipped' || state === 'not_run') return ''
  const { items } = given
  return items === null ? '' : pluralize(items, 'item')
}

/** A line per node as it ends, and what is said between; no escape codes. */
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

/** Says only what went wrong in a way that the outcome does not tell. */
export function createQuietView(output: TerminalOutput): ProgressView {
  return {
    nodeClosed() {},
    say: (text) => text.startsWith('fault:') && output.write(`${stripControlCharacters(text)}\n`),
    end() {},
  }
}
