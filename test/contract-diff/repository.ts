// Repositories whose history has publications of the contract, and `make check-contract` in them.
import { execFileSync, spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { at, type Change, operation } from './kit.ts'
import { written } from './written.ts'

const SCRIPT = resolve(import.meta.dirname, '../../src/codegen/check-contract.ts')
const PLACE = 'generated/lifecycle-v1'

/** What git says in a repository. */
export const git = (folder: string, ...args: string[]) =>
  execFileSync('git', ['-C', folder, '-c', 'user.name=Test', '-c', 'user.email=test@example.org', ...args], {
    stdio: 'pipe',
  })

/** Commits everything. */
export function commit(folder: string): void {
  git(folder, 'add', '.')
  git(folder, 'commit', '-q', '-m', 'A commit')
}

/** Writes the publication under a version, with some operations less or planned. */
export function publish(
  folder: string,
  version: string,
  gone: readonly string[] = [],
  planned: readonly string[] = [],
): void {
  const edit: Change = ({ openapi }) => {
    for (const path of gone) delete at(openapi, 'paths')[path]
    for (const path of planned) operation(openapi, path, 'get')['x-svc-implementation'] = 'planned'
  }
  written(join(folder, PLACE), edit, version)
}

/** `make check-contract` in a repository. */
export function check(folder: string, expect = '') {
  const env = { ...process.env, SVC_TEST_EXPECT: expect }
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, folder], { encoding: 'utf8', env })
  return { status, stdout, stderr }
}
