// The views of a run that write lines once: plain lines, and silence. The one that redraws is live-view.ts.
import type { NodeProgress, NodeState, Progress, View } from './progress.ts'
import type { Output } from './terminal.ts'
import { counted, duration, harmless } from './text.ts'

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
export function itemsText({ given, progress, state }: NodeProgress): string {
  if (progress !== null && state === 'running') return `${progress.done}/${progress.total}`
  if (state === 'waiting' || state === 'skipped' || state === 'not_run') return ''
  const { items } = given
  return items === null ? '' : counted(items, 'item')
}

/** A line per node as it ends, and what is said between; no escape codes. */
export function plainView(progress: Progress, output: Output): View {
  const line = (text: string) => output.write(`${text}\n`)
  return {
    closed(node: NodeProgress) {
      const time = progress.time(node)
      const items = itemsText(node)
      const what = `${node.label} ${WORDS[node.state]}`
      line(`${what}${time === null ? '' : ` in ${duration(time)}`}${items === '' ? '' : `, ${items}`}`)
    },
    say: (text) => line(harmless(text)),
    end: (total) => line(total),
  }
}

/** Says only what went wrong in a way that the outcome does not tell. */
export function quietView(output: Output): View {
  return {
    closed() {},
    say: (text) => text.startsWith('fault:') && output.write(`${harmless(text)}\n`),
    end() {},
  }
}
