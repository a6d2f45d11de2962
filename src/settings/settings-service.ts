// SettingsService stores the settings that users changed, and resolves the values that apply to them. definitions.ts lists the settings.
import type { Setting } from '../../generated/types.ts'
import type { Catalogue } from '../db/catalogue.ts'
import { type OwnerScope, ownerScopeKey } from '../db/owner-scope.ts'
import type { UserSettingTable } from '../db/tables/users.ts'
import { deleteUserSetting, listAllUserSettings, putUserSetting } from '../db/user-settings.ts'
import { type Problem, ServiceError } from '../errors.ts'
import type { Platform } from '../platform.ts'
import { appendToPointer } from '../shared/validation-problems.ts'
import {
  findSettingProblem,
  RUN_SETTINGS,
  type RunDefaults,
  type SettingDefinition,
  type SettingValue,
} from './definitions.ts'

/** Values to set by name; null resets a setting to its default. */
export type SettingChanges = Readonly<Record<string, SettingValue>>

export interface SettingsServiceParts {
  readonly catalogue: Catalogue
  readonly platform: Platform
  readonly types: ReadonlyMap<string, SettingDefinition>
}

export class SettingsService {
  readonly #parts: SettingsServiceParts
  /** The changed values by owner. They are cached, because each run reads them and they take little memory. */
  readonly #changedValues = new Map<string, Map<string, SettingValue>>()

  /** The stored settings that cannot be read, by owner and name. They must be set again. */
  readonly #damaged = new Set<string>()

  private constructor(parts: SettingsServiceParts) {
    this.#parts = parts
  }

  static async open(parts: SettingsServiceParts): Promise<SettingsService> {
    const service = new SettingsService(parts)
    await service.#load()
    return service
  }

  async #load(): Promise<void> {
    for (const row of await this.#parts.catalogue.read(listAllUserSettings)) {
      if (row.value === null) this.#damaged.add(ownerScopeKey(toScope(row), row.name))
      else this.#cacheChanges(toScope(row), { [row.name]: JSON.parse(row.value) as SettingValue })
    }
  }

  /** Lists every setting with the value that applies to the owner. @throws DATA_DAMAGED */
  list(owner: OwnerScope): Setting[] {
    this.#requireReadable(owner, [...this.#parts.types.keys()])
    const changed = this.#changedValues.get(ownerScopeKey(owner))
    return [...this.#parts.types.values()].map((type) => ({ ...type, value: resolveValue(type, changed) }))
  }

  /** Changes all given settings, or none. `at` is the JSON pointer of the record, for problems. @throws INVALID_PARAMETERS with every problem */
  async update(owner: OwnerScope, changes: SettingChanges, at: string): Promise<Setting[]> {
    const problems = Object.entries(changes).flatMap(([name, value]) =>
      this.#findProblems(name, value, appendToPointer(at, name)),
    )
    if (problems.length > 0) {
      throw new ServiceError('INVALID_PARAMETERS', {
        problems,
        message: 'Some settings do not accept the given values.',
      })
    }
    const updated_at = this.#parts.platform.timestamp()
    await this.#parts.catalogue.write(function* () {
      for (const [name, value] of Object.entries(changes)) {
        if (value === null) yield* deleteUserSetting(owner, name)
        else yield* putUserSetting({ ...toScopeColumns(owner), name, value: JSON.stringify(value), updated_at })
      }
    })
    this.#cacheChanges(owner, changes)
    return this.list(owner)
  }

  /** Returns the options of the owner's runs whose request does not set them. @throws DATA_DAMAGED */
  runDefaults(owner: OwnerScope): RunDefaults {
    this.#requireReadable(owner, Object.values(RUN_SETTINGS))
    const changed = this.#changedValues.get(ownerScopeKey(owner))
    const value = (of: keyof RunDefaults) => resolveValue(this.#parts.types.get(RUN_SETTINGS[of])!, changed)
    return {
      persistence: value('persistence') as RunDefaults['persistence'],
      event_detail: value('event_detail') as RunDefaults['event_detail'],
      concurrent: value('concurrent') as boolean,
      timeout_seconds: value('timeout_seconds') as number | null,
    }
  }

  #requireReadable(owner: OwnerScope, names: readonly string[]): void {
    if (this.#damaged.size === 0) return
    if (names.some((name) => this.#damaged.has(ownerScopeKey(owner, name)))) throw new ServiceError('DATA_DAMAGED')
  }

  #findProblems(name: string, value: SettingValue, path: string): Problem[] {
    const type = this.#parts.types.get(name)
    if (!type) return [{ path, code: 'unknown_setting', message: `There is no setting "${name}".` }]
    const wrong = value === null ? null : findSettingProblem(type, value)
    return wrong === null ? [] : [{ path, code: 'invalid_value', message: `The setting "${name}" ${wrong}.` }]
  }

  #cacheChanges(owner: OwnerScope, changes: SettingChanges): void {
    const key = ownerScopeKey(owner)
    const changed = this.#changedValues.get(key) ?? new Map<string, SettingValue>()
    for (const [name, value] of Object.entries(changes)) {
      this.#damaged.delete(ownerScopeKey(owner, name))
      if (value === null) changed.delete(name)
      else changed.set(name, value)
    }
    if (changed.size === 0) this.#changedValues.delete(key)
    else this.#changedValues.set(key, changed)
  }
}

/**
 * Returns the changed value, or the default if the setting does not accept that value any more, for example because the operator lowered a
 * limit.
 */
function resolveValue(type: SettingDefinition, changed: ReadonlyMap<string, SettingValue> | undefined): SettingValue {
  const value = changed?.get(type.name)
  return value === undefined || findSettingProblem(type, value) !== null ? type.default : value
}

function toScope({ user_id, workspace }: Pick<UserSettingTable, 'user_id' | 'workspace'>): OwnerScope {
  return { user_id, workspace_id: workspace === '' ? null : workspace }
}

function toScopeColumns({ user_id, workspace_id }: OwnerScope): Pick<UserSettingTable, 'user_id' | 'workspace'> {
  return { user_id, workspace: workspace_id ?? '' }
}
