// What a server stores: its database, the vault for what is encrypted in it, and the files beside it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ObjectStores, openObjectStores } from '../assets/store-factory.ts'
import { type Catalogue, SqliteCatalogue } from '../db/catalogue.ts'
import { readOrCreateDatabaseName } from '../db/database-metadata.ts'
import { openServerStore } from '../db/files/compaction.ts'
import { acquireDatabaseLock, openDataFolder } from '../db/files/data-folder.ts'
import { ReservedDiskSpace } from '../db/files/reserved-disk-space.ts'
import { IN_MEMORY } from '../db/open-database.ts'
import { StoredKeyFingerprints } from '../db/sealed-columns.ts'
import { SealedCursors } from '../db/sealed-cursors.ts'
import type { Store } from '../db/store.ts'
import { registerCommitMetrics } from '../jobs/metrics.ts'
import { SpilledValueStore } from '../jobs/values/spilled-value-store.ts'
import { openVault } from '../vault/open-vault.ts'
import type { Vault } from '../vault/vault.ts'
import type { Foundation } from './foundation.ts'

export interface Database {
  readonly path: string
  readonly store: Store
  /** The folder of the files beside the database. */
  readonly files_dir: string
  /** Null for a database in memory. */
  readonly reserved_space: ReservedDiskSpace | null
  /** What is wrong with the data folder, for the log. */
  readonly warning: string | null
}

export interface Storage {
  readonly store: Store
  readonly catalogue: Catalogue
  readonly vault: Vault
  /** Cursors of lists that are ordered by key. */
  readonly cursors: SealedCursors
  readonly spilled: SpilledValueStore
  readonly object_stores: ObjectStores
}

/** Takes the locks first, and so releases them last. @throws StartError */
export async function openDatabase({ config, overrides, log, metrics, stack }: Foundation): Promise<Database> {
  const owner = overrides.owner ?? `${config.host}:${config.port}`
  const folder = stack.use(openDataFolder(config.data_dir, owner))
  const path = config.database_url?.slice('sqlite:'.length) ?? folder.database
  const in_memory = path === IN_MEMORY
  if (config.database_url !== null && !in_memory) stack.use(acquireDatabaseLock(path, owner, folder))
  const reserved_space = in_memory ? null : stack.use(new ReservedDiskSpace(path))
  const files_dir = in_memory ? createTemporaryFolder(stack) : config.data_dir
  const onCommitted = registerCommitMetrics(metrics)
  const store = stack.use(await openServerStore(path, { durability: config.durability, log, onCommitted }))
  return { path, store, files_dir, reserved_space, warning: folder.warning }
}

/** Files of assets live as long as their rows: with a database in memory, their folder is temporary. */
function createTemporaryFolder(stack: AsyncDisposableStack): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-files-'))
  stack.defer(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export async function composeStorage(foundation: Foundation, database: Database): Promise<Storage> {
  const { config, platform, redactor, log, stack } = foundation
  const { path, store, files_dir } = database
  const record = new StoredKeyFingerprints(store)
  const { vault, key, warning } = await openVault(config.data_dir, config.secrets_master_key, record)
  redactor.add(key)
  for (const one of [warning, database.warning]) if (one !== null) log.warn(one)
  // A database in memory is lost at the end, and with it the meaning of the objects in a bucket.
  const storage = path === IN_MEMORY ? null : config.storage
  const owner = await readOrCreateDatabaseName(store, platform)
  const spilled = stack.use(new SpilledValueStore(files_dir, store, platform))
  const object_stores = stack.use(await openObjectStores(files_dir, { storage, owner, platform, log }))
  const cursors = new SealedCursors(vault.cipher('cursors'))
  return { store, catalogue: new SqliteCatalogue(store), vault, cursors, spilled, object_stores }
}
