// The guide's workflow with a model runs as it is printed.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { codeBlocks, readGuidePage } from '../helpers/documents.ts'
import { inFolder } from '../helpers/folder.ts'
import { runInTerminal } from '../helpers/process.ts'

const page = readGuidePage('models')

test(
  'the workflow with a model gives what is printed',
  inFolder(async (folder) => {
    const [workflow, printed] = codeBlocks(page, 'json')
    const params = JSON.parse(/With `(\{.*\})` as its parameters/.exec(page)![1]!) as Record<string, unknown>
    const file = join(folder, 'ask.json')
    writeFileSync(file, workflow!)
    assert.deepEqual(await runInTerminal(file, params), { code: 0, outputs: JSON.parse(printed!), stderr: '' })
  }),
)
