// `svc nodes` and `svc examples` on a terminal: lists are wrapped between words.
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { runExamplesCommand, runNodesCommand } from '../../src/cli/nodes-and-examples.ts'
import type { Terminal } from '../../src/cli/shared/terminal.ts'
import { displayWidth } from '../../src/cli/shared/terminal-text.ts'
import { nodeExamples } from '../../src/nodes/examples/catalogue.ts'
import { formatShortJson } from '../../src/shared/short-json.ts'
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

describe('the example at the end of a node type', () => {
  test('is JSON, with a line for each of its parts if they are short', async () => {
    const lines = await shown(runNodesCommand, ['math.Formula'], 10_000)
    assert.deepEqual(lines.slice(lines.indexOf('example:')).filter(Boolean), [
      'example:',
      '  {',
      '    "data": {"formula": "price * (1 + tax / 100)"},',
      '    "inputs": {"price": 50, "tax": 19},',
      '    "outputs": {"output": 59.5}',
      '  }',
    ])
  })

  test('is the one of the catalogue, for each type', async () => {
    for (const [type, example] of nodeExamples) {
      const lines = await shown(runNodesCommand, [type], 10_000)
      assert.deepEqual(JSON.parse(lines.slice(lines.indexOf('example:') + 1).join('\n')), example, type)
    }
  })
})

describe('short JSON', () => {
  test('breaks only what is longer than a line', () => {
    const value = { days: ['Mon', 'Tue'], none: [], empty: {}, rows: [{ city: 'Rome' }, { city: 'Oslo' }] }
    assert.equal(
      formatShortJson(value, 30),
      [
        '{',
        '  "days": ["Mon", "Tue"],',
        '  "none": [],',
        '  "empty": {},',
        '  "rows": [',
        '    {"city": "Rome"},',
        '    {"city": "Oslo"}',
        '  ]',
        '}',
      ].join('\n'),
    )
    for (const width of [1, 20, 80, 1000]) assert.deepEqual(JSON.parse(formatShortJson(value, width)), value)
  })

  test('is the usual JSON for texts, numbers and what has no members', () => {
    for (const value of ['a "text"', 5, null, true, [], {}])
      assert.equal(formatShortJson(value, 1), JSON.stringify(value))
  })
})
