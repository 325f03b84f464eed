import { plural, t } from '../words.ts'
import type { Probe } from './mcp-server.ts'

/** The tools that were found, or why there are none. */
export const ProbeResult = ({ probe }: { probe: Probe | undefined }) => (
  <div role="status">
    {probe &&
      (probe.ok ? (
        <>
          <p class="settings-state" data-kind="good">
            {plural(probe.tools.length, 'It works: {n} tool', 'It works: {n} tools')}
          </p>
          <ul class="settings-tags">
            {probe.tools.map(tool => (
              <li key={tool}>
                <code>{tool}</code>
              </li>
            ))}
          </ul>
        </>
      ) : (
        <p class="settings-state" data-kind="bad">
          {t('It does not work. {why}', { why: probe.error })}
        </p>
      ))}
  </div>
)
