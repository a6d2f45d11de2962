// Small disks of tests leave no mount behind, even if a test is killed.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runProcess } from '../helpers/process.ts'
import { until } from '../helpers/server.ts'
import { cannotMount } from './kit.ts'

test('a process that is killed leaves no small disk', { skip: cannotMount }, async () => {
  await using holder = runProcess(fileURLToPath(new URL('hold-disk.ts', import.meta.url)), [])
  const path = await until('the disk', () => /^(\/\S+)\n/.exec(holder.stdout())?.[1])
  const isMounted = () => readFileSync('/proc/self/mounts', 'utf8').includes(` ${path} `)
  assert.ok(isMounted())
  holder.kill('SIGKILL')
  await until('its end', () => !isMounted() && !existsSync(path))
})
