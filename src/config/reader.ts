// Reads settings out of text: numbers, flags, lists, URLs. Which settings there are is left to others.

export type Environment = Readonly<Record<string, string | undefined>>

export type SettingsReader = ReturnType<typeof settingsReader>

/** Reads single settings; what is wrong with one is added to `problems`, and it counts as absent. */
export function settingsReader(environment: Environment, problems: string[]) {
  const asked = new Set<string>()
  const text = (name: string): string | null => {
    asked.add(name)
    return environment[name]?.trim() || null
  }
  const boolean = (name: string): boolean | null => {
    const value = text(name)
    if (value === null) return null
    if (/^(?:1|true|yes|on)$/i.test(value)) return true
    if (!/^(?:0|false|no|off)$/i.test(value)) problems.push(`${name} must be true or false, and is "${value}"`)
    return false
  }
  return {
    /** The names of the settings that were read. */
    asked: asked as ReadonlySet<string>,
    text,
    /** Null where it is absent. */
    boolean,
    /** False where it is absent. */
    flag: (name: string): boolean => boolean(name) ?? false,
    list: (name: string): string[] =>
      (text(name) ?? '')
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== ''),
    integer(name: string, min: number, max: number): number | null {
      const value = text(name)
      if (value === null) return null
      if (/^\d{1,16}$/.test(value) && Number(value) >= min && Number(value) <= max) return Number(value)
      problems.push(`${name} must be a whole number from ${min} to ${max}, and is "${value}"`)
      return null
    },
    oneOf<T extends string>(name: string, allowed: readonly T[]): T | null {
      const value = text(name)
      if (value === null) return null
      const found = allowed.find((entry) => entry === value)
      if (!found) problems.push(`${name} must be one of ${allowed.join(', ')}, and is "${value}"`)
      return found ?? null
    },
    /** An address below which things lie, without the slash at its end. */
    url(name: string): string | null {
      const value = text(name)
      if (value === null) return null
      const url = URL.parse(value)
      if (url && /^https?:$/.test(url.protocol) && !/[@?#]/.test(value)) return value.replace(/\/+$/, '')
      const what = `${name} must be an http or https URL without user, query and fragment`
      // A password may stand before the @.
      problems.push(value.includes('@') ? what : `${what}, and is "${value}"`)
      return null
    },
  }
}
