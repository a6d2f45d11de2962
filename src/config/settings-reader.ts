// Reads settings out of text: numbers, flags, lists, URLs. The callers know which settings there are.

export type Environment = Readonly<Record<string, string | undefined>>

/** A value with user information, a query, a fragment, or pairs as in database URLs (`password=…`). */
const MAY_HOLD_SECRET = /[@?#=]/

/**
 * The end of a problem that shows a value: `, and is "…"`. Empty if the setting may hold a password or a key. For an entry of a list, `whole` is the
 * whole setting, since a password may contain a comma.
 */
export function describeValue(is: 'is' | 'holds', value: string, whole = value): string {
  return MAY_HOLD_SECRET.test(whole) ? '' : `, and ${is} "${value}"`
}

export type SettingsReader = ReturnType<typeof createSettingsReader>

/** Reads single settings. A wrong setting adds to `problems` and counts as absent. */
export function createSettingsReader(environment: Environment, problems: string[]) {
  const asked = new Set<string>()
  const text = (name: string): string | null => {
    asked.add(name)
    return environment[name]?.trim() || null
  }
  const boolean = (name: string): boolean | null => {
    const value = text(name)
    if (value === null) return null
    if (/^(?:1|true|yes|on)$/i.test(value)) return true
    if (!/^(?:0|false|no|off)$/i.test(value))
      problems.push(`${name} must be true or false${describeValue('is', value)}`)
    return false
  }
  return {
    /** The names of the settings that were read. */
    asked: asked as ReadonlySet<string>,
    text,
    /** Null: the setting is absent. */
    boolean,
    /** False: the setting is absent. */
    flag: (name: string): boolean => boolean(name) ?? false,
    list: (name: string): string[] =>
      (text(name) ?? '')
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== ''),
    /** The end of a problem with one entry of a list. */
    shownEntry: (name: string, entry: string): string => describeValue('holds', entry, text(name) ?? ''),
    integer(name: string, min: number, max: number): number | null {
      const value = text(name)
      if (value === null) return null
      if (/^\d{1,16}$/.test(value) && Number(value) >= min && Number(value) <= max) return Number(value)
      problems.push(`${name} must be a whole number from ${min} to ${max}${describeValue('is', value)}`)
      return null
    },
    oneOf<T extends string>(name: string, allowed: readonly T[]): T | null {
      const value = text(name)
      if (value === null) return null
      const found = allowed.find((entry) => entry === value)
      if (!found) problems.push(`${name} must be one of ${allowed.join(', ')}${describeValue('is', value)}`)
      return found ?? null
    },
    /** A base URL, without the slash at its end. */
    url(name: string): string | null {
      const value = text(name)
      if (value === null) return null
      const url = URL.parse(value)
      if (url && /^https?:$/.test(url.protocol) && !/[@?#]/.test(value)) return value.replace(/\/+$/, '')
      const what = 'an http or https URL without user, query and fragment'
      problems.push(`${name} must be ${what}${describeValue('is', value)}`)
      return null
    },
  }
}
