import type { Words } from './words.ts'

export interface Language {
  code: string
  /** In itself. */
  name: string
  /** What differs from English; fetched when it is chosen. A further language is a file of words, and its line here. */
  words?: () => Promise<Words>
}

export const LANGUAGES: readonly Language[] = [{ code: 'en', name: 'English' }]
