import type { ComponentChildren } from 'preact'
import { Loading, Problem } from '../ui/kit.tsx'
import type { Load } from '../ui/use-load.ts'

/** What was read, or why it was not. */
export const Loaded = <T,>({ load, children }: { load: Load<T>; children: (value: T) => ComponentChildren }) => (
  <>
    <Problem error={load.problem} again={load.again} />
    {load.value !== undefined ? children(load.value) : load.problem === undefined && <Loading />}
  </>
)
