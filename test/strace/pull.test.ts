// That a model which is in its place is on the disk can only be seen from outside: its bytes are synced before it gets its name, and its folder after.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { inFolder } from '../helpers/folder.ts'
import { startHub } from '../helpers/hub.ts'
import { namingOf, skip, syncsOf, traced } from './commands.ts'

const REPO = 'maker/model'

test(
  'a file is synced before it is in its place, and its folder after',
  { skip, timeout: 60_000 },
  inFolder(async (folder) => {
    await using hub = await startHub({ [REPO]: { 'a.gguf': { bytes: Buffer.alloc(200_000, 7) } } })
    const pull = ['models', 'pull', REPO, 'a.gguf', '--hub', hub.url]
    const environment = { SVC_DATA_DIR: folder, SVC_PROBE_LOCAL_MODELS: 'off' }
    const { code, calls } = await traced(pull, environment, join(folder, 'trace'))
    assert.equal(code, 0)
    const place = join(folder, 'models', REPO)
    const named = namingOf(join(place, 'a.gguf'), calls)
    const partial = /"([^"]*\/\.incomplete\/[0-9a-f]{64})"/.exec(named.text)?.[1]
    assert.ok(partial, 'it had another name before')
    assert.ok(
      syncsOf(partial, calls).some(({ ends }) => ends < named.begins),
      'its bytes were synced before',
    )
    assert.ok(
      syncsOf(place, calls).some(({ begins, ends }) => begins > named.ends && ends < Number.POSITIVE_INFINITY),
      'its folder was synced after',
    )
  }),
)
