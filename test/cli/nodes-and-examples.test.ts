// `svc nodes` and `svc examples` on a terminal: lists are wrapped between words.
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { runExamplesCommand, runNodesCommand } from '../../src/cli/nodes-and-examples.ts'
import type { Terminal } from '../../src/cli/shared/terminal.ts'
import { displayWidth } from '../../src/cli/shared/terminal-text.ts'
import { Screen } from './kit.ts'

type Command = (args: readonly string[], terminal: Terminal) => Promise<number>

async function shown(command: Command, args: readonly string[], columns: number): Promise<string[]> {
  const stdout = new Screen(columns, 24)
  const stop = new AbortController().signal
  const terminal = { stdin: Readable.from([]), stdout, stderr: new Screen(columns, 24), environment: {}, stop }
  assert.equal(await command(args, terminal), 0)
  return stdout.lines
}

const COMMANDS: readonly (readonly [command: Command, ...args: string[]])[] = [
  [runNodesCommand],
  [runNodesCommand, 'http.Request'],
  [runExamplesCommand],
]

describe('a list on a terminal', () => {
  for (const [command, ...args] of COMMANDS) {
    test(`of ${[command.name, ...args].join(' ')} has no line that the terminal would break`, async () => {
      const wide = await shown(command, args, 10_000)
      for (const columns of [80, 60]) {
        const lines = await shown(command, args, columns)
        const long = lines.filter((line) => displayWidth(line) > columns)
        assert.deepEqual(
          long.filter((line) => line.trim().includes(' ')),
          [],
        )
        assert.ok(lines.length > wide.length)
        assert.equal(lines.join(' ').replace(/ +/g, ' '), wide.join(' ').replace(/ +/g, ' '))
      }
    })
  }
})
