// `svc secrets rotate`: changes the master key of stored data while no server runs.
import { existsSync } from 'node:fs'
import type { Config } from '../config.ts'
import { acquireDatabaseLock, openDataFolder } from '../db/files/data-folder.ts'
import { Store } from '../db/store.ts'
import { StartError } from '../start-error.ts'
import { type RotationResult, rotateMasterKey } from './master-key-rotation.ts'
import { parseArguments } from './shared/arguments.ts'
import { EXIT_CODES, stopExitCode, type Terminal, UsageError, writeOutput } from './shared/terminal.ts'
import { pluralize, replaceControlCharacters } from './shared/terminal-text.ts'

const OWNER = 'svc secrets rotate'

/** Runs the command and returns its exit code. @throws CommandError, StartError */
export async function runSecretsCommand(args: readonly string[], terminal: Terminal, config: Config): Promise<number> {
  const { positionals } = parseArguments(args, {}, { least: 1, most: 1, what: 'rotate' })
  if (positionals[0] !== 'rotate') throw new UsageError(`there is no command "secrets ${positionals[0]}"`)
  using owned = new DisposableStack()
  const folder = owned.use(openDataFolder(config.data_dir, OWNER))
  const elsewhere = config.database_url?.slice('sqlite:'.length) ?? null
  const path = elsewhere ?? folder.database
  if (!existsSync(path)) throw new StartError(`there is no database ${path}; check SVC_DATA_DIR and SVC_DATABASE_URL`)
  if (elsewhere !== null) owned.use(acquireDatabaseLock(elsewhere, OWNER, folder))
  await using store = await Store.open(path)
  const keys = { present: config.secrets_master_key, next: config.secrets_master_key_new }
  const rotation = await rotateMasterKey(store, folder.path, keys, terminal.stop)
  await writeOutput(terminal.stderr, `${summarizeRotation(rotation, config)}\n`)
  return rotation.done ? EXIT_CODES.completed : stopExitCode(terminal.stop)
}

function summarizeRotation({ rows, damaged, done, kept }: RotationResult, config: Config): string {
  const count = `${pluralize(rows, 'stored value')} ${rows === 1 ? 'is' : 'are'} encrypted under the new key`
  if (!done)
    return `svc: stopped: ${count}; run "svc secrets rotate" again for the others; no server starts before that`
  const left =
    damaged === 0
      ? ''
      : `\nsvc: ${pluralize(damaged, 'stored value')} could not be decrypted with the old key, and was left unchanged`
  return `svc: ${count}${left}${formerKeyNotice(kept)}${masterKeyNotice(config)}`
}

function formerKeyNotice(kept: string | null): string {
  const which = kept === null ? 'the old key' : `the old key, which is kept in ${replaceControlCharacters(kept)}`
  return `\nsvc: earlier backups need ${which}: keep it for as long as you keep them`
}

function masterKeyNotice({ secrets_master_key: present, secrets_master_key_new: next }: Config): string {
  if (next !== null) return '\nsvc: from now on, set SECRETS_MASTER_KEY to the value of SECRETS_MASTER_KEY_NEW'
  return present === null
    ? ''
    : '\nsvc: the new key is in the data folder: from now on, start without SECRETS_MASTER_KEY'
}
