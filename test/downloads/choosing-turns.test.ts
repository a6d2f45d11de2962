// Tests that other work gets its turn while a repository with very many files of very deep paths is validated.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { selectFiles } from '../../src/downloads/file-selection.ts'
import { parseFileList } from '../../src/downloads/hub-file-list.ts'

test('other work gets its turn while the files of a large repository are validated', async () => {
  const siblings = Array.from({ length: 2_000 }, (_, at) => {
    return { rfilename: `${'a/'.repeat(500)}${at}`, size: 1, blobId: 'a'.repeat(40) }
  })
  let turns = 0
  const counting = setInterval(() => turns++, 1)
  const wanted = { repo_id: 'r', path: null, model_type: 'm', allow: null, ignore: [] }
  const files = await selectFiles(parseFileList({ siblings }, 'r'), wanted, new AbortController().signal)
  clearInterval(counting)
  assert.equal(files.length, 2_000)
  assert.ok(turns >= 5, `${turns} turns`)
})
