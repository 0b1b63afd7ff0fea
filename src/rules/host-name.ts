const ulid = '[0-7][0-9a-hjkmnp-tv-z]{25}';

/** The name of an agent's app and machine at the host; decided before anything is created there. */
export const hostNameOf = (installationId: string, agentId: string): string =>
  `acp-${installationId}-${agentId.replace('agt_', '')}`;

/** Volume names at the host hold letters, digits and underscores, 30 at most. */
export const volumeNameOf = (agentId: string): string => agentId.replace('agt_', 'vol_');

/** The agent whose app has this name; undefined for a name that this installation would not have given. */
export const agentIdOfApp = (installationId: string, appName: string): string | undefined => {
  const prefix = hostNameOf(installationId, '');
  const rest = appName.slice(prefix.length);
  return appName.startsWith(prefix) && new RegExp(`^${ulid}$`).test(rest) ? `agt_${rest}` : undefined;
};

/** The agent whose volume has this name, if it is a name of ours. */
export const agentIdOfVolume = (volumeName: string): string | undefined =>
  new RegExp(`^vol_${ulid}$`).test(volumeName) ? volumeName.replace('vol_', 'agt_') : undefined;
