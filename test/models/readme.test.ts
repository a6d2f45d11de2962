// The README's workflow with a model runs as it is printed.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { inFolder } from '../helpers/folder.ts'
import { runInTerminal } from '../helpers/process.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const section = /\n## Models\n([\s\S]*?)\n## /.exec(readme)![1]!

test(
  'the workflow with a model gives what is printed',
  inFolder(async (folder) => {
    const [workflow, printed] = [...section.matchAll(/```json\n([\s\S]*?)```/g)].map(([, block]) => block!)
    const params = JSON.parse(/With `(\{.*\})` as its parameters/.exec(section)![1]!) as Record<string, unknown>
    const file = join(folder, 'ask.json')
    writeFileSync(file, workflow!)
    assert.deepEqual(await runInTerminal(file, params), { code: 0, outputs: JSON.parse(printed!), stderr: '' })
  }),
)
