// Tests when the hash of a submission is computed: it walks through all inputs, so refused requests do not cause it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { submitJob } from '../../src/lifecycle/submissions.ts'
import { OWNER } from '../jobs/kit.ts'
import { QUICK, startPreview, submissionOf, workflow } from './jobs-kit.ts'

test('the inputs of a submission are not walked before its key or its workflow is known', async () => {
  await using server = await startPreview()
  const of = await workflow(server, QUICK)
  let walks = 0
  const inputs = (value: unknown) =>
    new Proxy({ in: value } as Record<string, unknown>, {
      ownKeys(target) {
        walks++
        return Reflect.ownKeys(target)
      },
    })
  const door = { at: '/body', signal: new AbortController().signal }
  const submit = (request: Parameters<typeof submissionOf>[1], etag = of.etag) =>
    submitJob(server.context.runs, OWNER, submissionOf({ ...of, etag }, request), door)
  const idempotency_key = 'one-key'
  await assert.rejects(submit({ idempotency_key, inputs: inputs('Ada') }, 'another'), {
    code: 'WORKFLOW_REVISION_CONFLICT',
  })
  assert.equal(walks, 0)
  const { job_id } = await submit({ idempotency_key, inputs: inputs('Ada') })
  const again = await submit({ idempotency_key, inputs: inputs('Ada') })
  assert.deepEqual([again.job_id, again.duplicate], [job_id, true])
  walks = 0
  await assert.rejects(submit({ idempotency_key, inputs: inputs('Bob') }), { code: 'IDEMPOTENCY_CONFLICT' })
  assert.ok(walks > 0)
})
